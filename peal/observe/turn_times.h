// SPDX-License-Identifier: BSD-3-Clause
// TurnTimes measures how much time a loop is busy and how much it waits, from Loop::measure_turns() on. The loop owns
// it, and only the loop's thread may use it.
//
// The cost is two clock reads for each turn. A turn in which the engine has work to do before it waits costs four: that
// work counts as busy time. An io_uring engine lets the kernel work inside the wait, which counts as waiting. Other
// engines make system calls for the same work, which count as busy time.
//
//        begin_turn()   woke_at()            begin_turn()
//   ---------+-------------+----------------------+------
//              waiting       busy: events, timers,
//              (or spinning) tasks
#pragma once

#include <peal/base/clock.h>
#include <peal/observe/histogram.h>

namespace peal {

class TurnTimes {
 public:
  // busy() and waiting() return the total busy time and the total waiting time of all completed turns.
  Duration busy() const { return busy_; }
  Duration waiting() const { return waiting_; }

  // Returns the busy times of all completed turns, in ns, with a precision of 1 %. A time of more than a minute is
  // recorded as a minute.
  const Histogram& turns() const { return turns_; }

  // Ends the current turn at the time `now` and begins a new turn, which starts with its wait. The loop calls this.
  void begin_turn(TimePoint now) {
    const TimePoint woke = woke_at_ == kNever ? now : woke_at_;
    if (began_ != kNever) {
      const Duration busy = now - woke + worked_;
      waiting_ += woke - began_ - worked_;
      busy_ += busy;
      turns_.record(busy.count());
    }
    began_ = now;
    woke_at_ = kNever;
    worked_ = {};
  }

  // The time at which the wait of this turn ended. The engine sets this time after each wait. If a turn waits several
  // times, the last wait counts.
  TimePoint& woke_at() { return woke_at_; }

  // The time that the engine spent on work before its waits in this turn, for example to send queued bytes or to
  // continue a handshake. The engine adds to this time.
  Duration& worked() { return worked_; }

 private:
  TimePoint began_ = kNever;    // when this turn began; kNever before the first one
  TimePoint woke_at_ = kNever;  // kNever if this turn has not waited
  Duration worked_{};
  Duration busy_{};
  Duration waiting_{};
  Histogram turns_{{.lowest = 1'000, .highest = 60'000'000'000, .significant_digits = 2}};
};

}  // namespace peal
