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

TEST(Clock, sums_stay_in_range) {
  constexpr TimePoint kNow{std::chrono::hours(1)};
  EXPECT_EQ(later(kNow, std::chrono::hours(2)), TimePoint(std::chrono::hours(3)));
  EXPECT_EQ(later(kNow, -std::chrono::hours(2)), TimePoint(-std::chrono::hours(1)));
  EXPECT_EQ(later(kNow, Duration::max()), kNever);
  EXPECT_EQ(later(kNow, Duration::max() - Duration(1)), kNever);
  EXPECT_EQ(later(kNever, Duration(1)), kNever);
  EXPECT_EQ(later(TimePoint(-std::chrono::hours(1)), Duration::max()), kNever) << "never, also before the epoch";
  EXPECT_EQ(later(TimePoint(-std::chrono::hours(1)), Duration::min()), TimePoint::min());
  EXPECT_LT(later(kNow, Duration::min()), TimePoint());
  EXPECT_EQ(sum_of(Duration(1), Duration(2)), Duration(3));
  EXPECT_EQ(sum_of(Duration::max(), Duration(1)), Duration::max());
  EXPECT_EQ(sum_of(Duration::min(), Duration(-1)), Duration::min());
  EXPECT_EQ(sum_of(Duration::min(), Duration::max()), Duration(-1));
}

}  // namespace
}  // namespace peal
