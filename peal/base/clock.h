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

// Longer times, Duration::max() for "never" among them, are taken for this one, so that sums of times stay in range.
inline constexpr Duration kLongest = std::chrono::hours(24) * 36'500;
constexpr Duration bounded(Duration time) { return time < kLongest ? time : kLongest; }

// CLOCK_MONOTONIC, any thread.
inline TimePoint monotonic_now() { return std::chrono::steady_clock::now(); }

// For reports and metrics.
constexpr double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace peal
