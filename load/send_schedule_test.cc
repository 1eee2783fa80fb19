// SPDX-License-Identifier: BSD-3-Clause
#include <load/send_schedule.h>

#include <set>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

constexpr TimePoint kStart{std::chrono::hours(5)};

TEST(SendSchedule, messages_are_due_at_equal_distances) {
  const SendSchedule schedule(kStart, 1000, 0, 1);
  EXPECT_EQ(schedule.due(0), kStart);
  EXPECT_EQ(schedule.due(1), kStart + std::chrono::milliseconds(1));
  EXPECT_EQ(schedule.due(12'345), kStart + std::chrono::milliseconds(12'345));
}

TEST(SendSchedule, an_interval_that_is_no_whole_nanosecond_does_not_drift) {
  const SendSchedule schedule(kStart, 3, 0, 1);
  for (const uint64_t k : {3ULL, 3'000'000ULL, 3'000'000'000ULL}) {
    EXPECT_EQ(schedule.due(k), kStart + std::chrono::seconds(k / 3)) << k;
  }
}

TEST(SendSchedule, threads_take_turns_and_offer_the_rate_together) {
  std::multiset<TimePoint> all;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    const SendSchedule schedule(kStart, 2000, thread, 4);
    for (uint64_t k = 0; k < 25; ++k) all.insert(schedule.due(k));
  }
  const SendSchedule alone(kStart, 2000, 0, 1);
  uint64_t k = 0;
  for (const TimePoint due : all) EXPECT_EQ(due, alone.due(k++));
}

TEST(SendSchedule, nothing_is_due_before_the_start) {
  EXPECT_EQ(SendSchedule(kStart, 10, 0, 1).due_by(kStart - Duration(1)), 0U);
  EXPECT_EQ(SendSchedule(kStart, 10, 0, 1).due_by(kStart), 1U);
  EXPECT_EQ(SendSchedule(kStart, 10, 3, 4).due_by(kStart + std::chrono::milliseconds(299)), 0U);
  EXPECT_EQ(SendSchedule(kStart, 10, 3, 4).due_by(kStart + std::chrono::milliseconds(300)), 1U);
}

TEST(SendSchedule, what_is_due_by_an_instant_agrees_with_when_each_is_due) {
  for (const double rate : {0.7, 3.0, 9'999.0, 1'000'003.0, 3e8}) {
    for (const uint64_t thread : {0, 2}) {
      const SendSchedule schedule(kStart, rate, thread, 3);
      for (const uint64_t k : {0ULL, 1ULL, 999ULL, 1'000'000ULL}) {
        const TimePoint due = schedule.due(k);
        EXPECT_GE(schedule.due_by(due), k + 1) << rate;
        EXPECT_LE(schedule.due(schedule.due_by(due) - 1), due) << rate;
        EXPECT_GT(schedule.due(schedule.due_by(due)), due) << rate;
        if (due > kStart) {
          EXPECT_LE(schedule.due_by(due - Duration(1)), k) << rate;
        }
      }
    }
  }
}

}  // namespace
}  // namespace peal::load
