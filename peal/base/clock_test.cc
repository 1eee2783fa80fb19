// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/clock.h>

#include <ctime>

#include <gtest/gtest.h>

namespace peal {
namespace {

TimePoint kernel_monotonic() {
  timespec now{};
  EXPECT_EQ(::clock_gettime(CLOCK_MONOTONIC, &now), 0);
  return TimePoint(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

TEST(Clock, is_the_kernel_s_monotonic_clock) {
  const TimePoint before = kernel_monotonic();
  const TimePoint now = monotonic_now();
  const TimePoint after = kernel_monotonic();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(Clock, never_is_later_than_any_time) { EXPECT_GT(kNever, monotonic_now() + std::chrono::years(200)); }

}  // namespace
}  // namespace peal
