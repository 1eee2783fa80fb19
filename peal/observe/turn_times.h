// SPDX-License-Identifier: BSD-3-Clause
// TurnTimes: where a loop's time went since somebody asked it to measure (Loop::measure_turns). The loop owns it; its
// thread alone touches it. It costs two clock reads a turn, four where something was due before the wait: that is busy
// time too, though it comes first. What the kernel does for an io_uring inside the wait counts
// as waiting, where other engines make a system call in their busy time.
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
  // Of the turns that are over.
  Duration busy() const { return busy_; }
  Duration waiting() const { return waiting_; }
  // How long each turn was busy, in ns, to 1 %; a minute at most.
  const Histogram& turns() const { return turns_; }

  // For the loop: at `now` the last turn is over and a new one begins, by waiting.
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
  // What the engine is to write when a wait is over; with several waits in a turn the last counts.
  TimePoint& woke_at() { return woke_at_; }
  // What it adds that it worked before: on what was queued, or a step of a handshake.
  Duration& worked() { return worked_; }

 private:
  TimePoint began_ = kNever;
  TimePoint woke_at_ = kNever;
  Duration worked_{};
  Duration busy_{};
  Duration waiting_{};
  Histogram turns_{{.lowest = 1'000, .highest = 60'000'000'000, .significant_digits = 2}};
};

}  // namespace peal
