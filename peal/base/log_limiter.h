// SPDX-License-Identifier: BSD-3-Clause
// LogLimiter lets one line through in each interval and counts what it held back.
//   if (auto suppressed = limiter.admit(now)) PEAL_LOG_WARN("accept failed ({} more like it)", *suppressed);
// Not thread-safe: it belongs to whoever logs, usually one object of one loop.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/clock.h>

namespace peal {

class LogLimiter {
 public:
  // 0 < `interval`.
  explicit LogLimiter(Duration interval) : interval_(interval) {
    PEAL_ASSERT(interval > Duration::zero(), "the interval must be above 0, not {} ns", interval.count());
  }

  // The number held back since the last line that passed, or nothing: then this one is held back as well.
  std::optional<std::uint64_t> admit(TimePoint now) {
    if (now < next_) {
      ++suppressed_;
      return std::nullopt;
    }
    next_ = later(now, interval_);
    return std::exchange(suppressed_, 0);
  }

 private:
  Duration interval_;
  TimePoint next_ = TimePoint::min();  // from then on a line passes
  std::uint64_t suppressed_ = 0;
};

}  // namespace peal
