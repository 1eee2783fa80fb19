// SPDX-License-Identifier: BSD-3-Clause
// Backoff: how long to wait before trying again: doubling from `first` to `longest`, each delay drawn from its upper
// half, so that clients who lost one server together do not come back together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include <peal/base/assert.h>
#include <peal/base/clock.h>

namespace peal::detail {

class Backoff {
 public:
  // 0 < first <= longest.
  Backoff(Duration first, Duration longest, uint64_t seed)
      : first_(first), longest_(longest), step_(first), random_(seed) {
    PEAL_ASSERT(first > Duration::zero() && first <= longest, "back-off from {} ns to {} ns", first.count(),
                longest.count());
  }

  Duration next() {
    std::uniform_int_distribution<Duration::rep> draw(step_.count() / 2, step_.count());
    Duration delay(draw(random_));
    step_ = step_ > longest_ / 2 ? longest_ : step_ * 2;
    return delay;
  }
  void reset() { step_ = first_; }

 private:
  const Duration first_;
  const Duration longest_;
  Duration step_;
  std::minstd_rand random_;
};

}  // namespace peal::detail
