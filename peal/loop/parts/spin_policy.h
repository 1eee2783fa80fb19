// SPDX-License-Identifier: BSD-3-Clause
// SpinPolicy decides before each wait whether the loop spins first, based on how the previous waits ended. It reads no
// clock and calls no engine. The loop owns it and is its only user.
//
// Mode kAuto has two states:
//   - Sleeping: the loop measures its waits. A wait is short if it lasted at most the bound plus the cost of a wake-up,
//     because a spin would have caught its event. After needed_ short waits in a row, the policy starts to spin.
//   - Spinning: a spin that an event ends adds one credit, a spin that ends without an event takes two. When the credit
//     falls below zero, the policy goes back to sleeping and doubles needed_, up to 1024.
// So a loop that becomes idle spins for at most five bounds. A loop whose events always come just after the bound spins
// once in about a thousand waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include <peal/base/assert.h>
#include <peal/loop/spin.h>

namespace peal::detail {

class SpinPolicy {
 public:
  // Asserts that the bound is > 0 and at most kMaxSpin, unless the mode is kOff.
  explicit SpinPolicy(Spin spin) : spin_(spin), spins_(spin.mode == Spin::Mode::kBound) {
    PEAL_ASSERT(spin.mode == Spin::Mode::kOff || (spin.bound > Duration::zero() && spin.bound <= kMaxSpin),
                "a spin of {} ns; the bound must be above 0 and at most {} ns", spin.bound.count(), kMaxSpin.count());
  }

  // Returns true if the loop should spin before the next wait. If not, the loop measures the wait for note_sleep().
  bool should_spin() const { return spins_; }
  Duration bound() const { return spin_.bound; }
  // Returns the number of polls after which a spin ends, even if the clock has not reached the bound. A simulated clock
  // does not move during polls. With a real clock this limit is not reached, since a poll takes at least 50 ns.
  int64_t max_polls() const { return spin_.bound.count() / 50 + 1; }

  // Records the end of a spin. `won` is true if an event or a task ended the spin. Must not be called for a spin whose
  // first poll found an event, because such a loop is busy and the spin says nothing about its waits.
  void note_spin(bool won) {
    if (spin_.mode != Spin::Mode::kAuto) return;
    credit_ = std::min(credit_ + (won ? 1 : -2), kMostCredit);
    if (credit_ == kMostCredit) needed_ = kLeastNeeded;
    if (credit_ >= 0) return;
    spins_ = false;
    needed_ = std::min(needed_ * 2, kMostNeeded);
  }

  // Records how long a wait without a spin lasted.
  void note_sleep(Duration duration) {
    short_waits_ = duration <= spin_.bound + kWakeUp ? short_waits_ + 1 : 0;
    if (short_waits_ < needed_) return;
    short_waits_ = 0;
    credit_ = 0;
    spins_ = spin_.mode == Spin::Mode::kAuto;
  }

 private:
  // The time that a sleeping thread's wake-up adds to a wait.
  static constexpr Duration kWakeUp = std::chrono::microseconds(50);
  static constexpr int32_t kMostCredit = 8;
  static constexpr uint32_t kLeastNeeded = 4;
  static constexpr uint32_t kMostNeeded = 1024;

  const Spin spin_;
  bool spins_;
  int32_t credit_ = 0;
  uint32_t needed_ = kLeastNeeded;
  uint32_t short_waits_ = 0;  // short waits in a row
};

}  // namespace peal::detail
