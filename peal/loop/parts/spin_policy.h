// SPDX-License-Identifier: BSD-3-Clause
// SpinPolicy decides before each wait whether the loop spins first, from how the last waits ended. It reads no clock
// and touches no engine. The loop owns it.
//
// kAuto has two states. Asleep: waits are measured, and after `needed` of them in a row that a spin would have caught
// (they lasted at most the bound and what the wake-up cost) it spins. Spinning: a spin that an event ends earns a
// credit, one that ends in vain costs two, and without credit it goes back to sleep, needing twice as many short waits
// the next time. So a loop that falls idle spins for at most five bounds, and one whose events always come just too
// late for one bound in a thousand waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include <peal/base/assert.h>
#include <peal/loop/spin.h>

namespace peal::detail {

class SpinPolicy {
 public:
  // 0 < bound <= kMaxSpin unless the mode is kOff.
  explicit SpinPolicy(Spin spin) : spin_(spin), spins_(spin.mode == Spin::Mode::kBound) {
    PEAL_ASSERT(spin.mode == Spin::Mode::kOff || (spin.bound > Duration::zero() && spin.bound <= kMaxSpin),
                "a spin of {} ns", spin.bound.count());
  }

  // Spin before the coming wait? If not, measure the wait and tell note_sleep().
  bool should_spin() const { return spins_; }
  Duration bound() const { return spin_.bound; }
  // Where the clock stands still while one polls, a simulated one, this many polls end a spin: no kernel's takes less
  // than 50 ns.
  int64_t max_polls() const { return spin_.bound.count() / 50 + 1; }

  // A spin of some length ended: by an event, or in vain. One whose first poll found something tells nothing: the loop
  // is busy.
  void note_spin(bool won) {
    if (spin_.mode != Spin::Mode::kAuto) return;
    credit_ = std::min(credit_ + (won ? 1 : -2), kMostCredit);
    if (credit_ == kMostCredit) needed_ = kLeastNeeded;
    if (credit_ >= 0) return;
    spins_ = false;
    needed_ = std::min(needed_ * 2, kMostNeeded);
  }

  // A wait without a spin lasted this long.
  void note_sleep(Duration duration) {
    short_waits_ = duration <= spin_.bound + kWakeUp ? short_waits_ + 1 : 0;
    if (short_waits_ < needed_) return;
    short_waits_ = 0;
    credit_ = 0;
    spins_ = spin_.mode == Spin::Mode::kAuto;
  }

 private:
  // What a wake-up adds to a wait that an event ended.
  static constexpr Duration kWakeUp = std::chrono::microseconds(50);
  static constexpr int32_t kMostCredit = 8;
  static constexpr uint32_t kLeastNeeded = 4;
  static constexpr uint32_t kMostNeeded = 1024;

  const Spin spin_;
  bool spins_;
  int32_t credit_ = 0;
  uint32_t needed_ = kLeastNeeded;
  uint32_t short_waits_ = 0;  // in a row
};

}  // namespace peal::detail
