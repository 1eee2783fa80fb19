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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <peal/base/clock.h>
#include <peal/observe/histogram.h>

namespace peal {

class TurnTimes {
 public:
  // The layout of turns(), and of the buckets of a TurnTally.
  static constexpr HistogramOptions kOptions{.lowest = 1'000, .significant_digits = 2};

  // busy() and waiting() return the total busy time and the total waiting time of all completed turns.
  Duration busy() const { return busy_; }
  Duration waiting() const { return waiting_; }

  // Returns the busy times of all completed turns, in ns, with a precision of 1 %. A time of more than an hour is
  // recorded as an hour.
  const Histogram& turns() const { return turns_; }

  // Returns the index, in turns().counts(), of the time from the end of this turn's wait to `now`. That time is 0 if
  // the engine does not tell when its waits end.
  size_t bucket_at(TimePoint now) const {
    const Duration passed = woke_at_ == kNever ? Duration::zero() : now - woke_at_;
    return turns_.index_of(std::clamp(passed.count(), int64_t{0}, kOptions.highest));
  }

  // Ends the current turn at the time `now` and begins a new turn, which starts with its wait. Returns bucket_at(now)
  // of the turn that has ended. The loop calls this.
  size_t begin_turn(TimePoint now) {
    const TimePoint woke = woke_at_ == kNever ? now : woke_at_;
    size_t bucket = 0;
    if (worked_ != Duration::zero()) [[unlikely]]
      bucket = bucket_at(now);
    if (began_ != kNever) {
      const Duration busy = now - woke + worked_;
      waiting_ += woke - began_ - worked_;
      busy_ += busy;
      const size_t recorded = turns_.record(busy.count());
      if (worked_ == Duration::zero()) [[likely]]
        bucket = recorded;
    }
    began_ = now;
    woke_at_ = kNever;
    worked_ = {};
    return bucket;
  }

  // The time at which the wait of this turn ended. The engine sets this time after each wait. If a turn waits several
  // times, the last wait counts.
  TimePoint& woke_at() { return woke_at_; }
  const TimePoint& woke_at() const { return woke_at_; }

  // The time that the engine spent on work before its waits in this turn, for example to send queued bytes or to
  // continue a handshake. The engine adds to this time.
  Duration& worked() { return worked_; }

 private:
  TimePoint began_ = kNever;    // when this turn began; kNever before the first one
  TimePoint woke_at_ = kNever;  // kNever if this turn has not waited
  Duration worked_{};
  Duration busy_{};
  Duration waiting_{};
  Histogram turns_{kOptions};
};

// TurnTally: counts things that are complete at the end of a turn, by the time since the turn's wait ended. For example
// it counts the answers of a server. The loop has read the clock at the end of a turn anyway, so a tally costs no clock
// read of its own: see Loop::add_turn_tally(). Only the loop's thread uses a tally.
class TurnTally {
 public:
  TurnTally() = default;
  TurnTally(const TurnTally&) = delete;
  TurnTally& operator=(const TurnTally&) = delete;
  virtual ~TurnTally() = default;

  // The loop calls this at the end of each turn. `bucket`: TurnTimes::bucket_at(now).
  void end_turn(size_t bucket, TimePoint now) {
    buckets_[bucket] += count_;
    count_ = 0;
    if (now >= due_) [[unlikely]]
      turn_ended(bucket, now);
  }

  std::shared_ptr<TurnTally> next;  // the loop's next tally; the loop sets this

 protected:
  // Called at the end of a turn, unless this is before due_. Must not throw, and must not add or remove tallies.
  virtual void turn_ended(size_t bucket, TimePoint now) noexcept = 0;

  // At the end of each turn, count_ is added to the bucket of the turn's time and set to 0. The array of buckets is as
  // long as TurnTimes::turns().counts(), belongs to the derived class, and must not be null while a loop has the tally.
  uint64_t* buckets_ = nullptr;
  uint64_t count_ = 0;
  TimePoint due_{};
};

}  // namespace peal
