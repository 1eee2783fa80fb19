// SPDX-License-Identifier: BSD-3-Clause
// Time is monotonic and in nanoseconds. A loop takes its time from its engine (Engine::now), so that the simulator
// can own it; monotonic_now() is what the engines of the real world answer.
#pragma once

#include <chrono>

namespace peal {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// "Never": the deadline of a wait that only an event ends.
inline constexpr TimePoint kNever = TimePoint::max();

// The sum. Where it does not fit it is Duration::max(), or Duration::min() where both are negative.
constexpr Duration sum_of(Duration one, Duration other) {
  Duration::rep sum = 0;
  if (!__builtin_add_overflow(one.count(), other.count(), &sum)) return Duration(sum);
  return one < Duration::zero() ? Duration::min() : Duration::max();
}

// When a wait of `wait` that begins at `time` ends. kNever where `wait` is Duration::max(), which means "never", and
// where the sum does not fit. tools/tidy.py finds times and options that are added without this.
constexpr TimePoint later(TimePoint time, Duration wait) {
  return wait == Duration::max() ? kNever : TimePoint(sum_of(time.time_since_epoch(), wait));
}

// Longer times, Duration::max() for "never" among them, are taken for this one: for a path on which each instruction
// counts, whose sums then stay in range without later().
inline constexpr Duration kLongest = std::chrono::hours(24) * 36'500;
constexpr Duration bounded(Duration time) { return time < kLongest ? time : kLongest; }

// CLOCK_MONOTONIC, any thread.
inline TimePoint monotonic_now() { return std::chrono::steady_clock::now(); }

// For reports and metrics.
constexpr double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace peal
