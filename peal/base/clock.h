// SPDX-License-Identifier: BSD-3-Clause
// Time points and durations of the library: monotonic, in nanoseconds. A loop reads the time from its engine
// (Engine::now()), so that the simulator can replace it. The engines of a real system return monotonic_now().
#pragma once

#include <chrono>

namespace peal {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// The time point that means "never". A wait with this deadline ends only by an event.
inline constexpr TimePoint kNever = TimePoint::max();

// Returns one + other. If the sum does not fit, returns Duration::max(), or Duration::min() if both are negative.
constexpr Duration sum_of(Duration one, Duration other) {
  Duration::rep sum = 0;
  if (!__builtin_add_overflow(one.count(), other.count(), &sum)) return Duration(sum);
  return one < Duration::zero() ? Duration::min() : Duration::max();
}

// Returns time + wait: the end of a wait that begins at `time`. Returns kNever if `wait` is Duration::max(), which
// means "never", or if the sum does not fit. tools/tidy.py reports code that adds an option to a time without later().
constexpr TimePoint later(TimePoint time, Duration wait) {
  return wait == Duration::max() ? kNever : TimePoint(sum_of(time.time_since_epoch(), wait));
}

// A hundred years. bounded() returns kLongest in place of every longer duration, also of Duration::max(), which means
// "never". A time plus a bounded duration cannot overflow, so a hot path can add the two without later().
inline constexpr Duration kLongest = std::chrono::hours(24) * 36'500;
constexpr Duration bounded(Duration time) { return time < kLongest ? time : kLongest; }

// Returns the time of CLOCK_MONOTONIC. Any thread.
inline TimePoint monotonic_now() { return std::chrono::steady_clock::now(); }

// Returns the duration in seconds, for reports and metrics.
constexpr double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace peal
