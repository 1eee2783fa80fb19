// SPDX-License-Identifier: BSD-3-Clause
// LogLimiter lets one line pass in each interval and counts the lines that it suppressed.
//   if (auto suppressed = limiter.admit(now)) PEAL_LOG_WARN("accept failed ({} more like it)", *suppressed);
// A LogLimiter is not thread-safe. It is usually a member of the object that logs, and used on one loop.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/clock.h>

namespace peal {

class LogLimiter {
 public:
  // Lets at most one line pass in each `interval`, which must be above 0.
  explicit LogLimiter(Duration interval) : interval_(interval) {
    PEAL_ASSERT(interval > Duration::zero(), "the interval must be above 0, not {} ns", interval.count());
  }

  // Decides whether a line may be logged at the time `now`. If so, returns the number of lines that were suppressed
  // since the last line that passed. Otherwise returns nullopt and counts this line as suppressed.
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
  TimePoint next_ = TimePoint::min();  // the time from which on the next line may pass
  std::uint64_t suppressed_ = 0;
};

}  // namespace peal
