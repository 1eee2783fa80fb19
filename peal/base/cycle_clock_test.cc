// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/cycle_clock.h>

#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

class CycleClockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CycleClock::usable()) GTEST_SKIP() << "the kernel does not tell the time by a cycle counter here";
  }
};

// The time of each stamp must lie between the clock readings before and after it. The allowed error is the time that it
// took to take the two moments, however long this thread was interrupted.
TEST_F(CycleClockTest, stamp_tells_when_it_was_taken) {
  struct Reading {
    TimePoint before;
    uint64_t stamp;
    TimePoint after;
  };
  Duration apart = std::chrono::microseconds(1);
  const auto moment = [&] {
    const TimePoint asked = monotonic_now();
    const CycleClock::Moment now = CycleClock::now();
    apart += monotonic_now() - asked;
    return now;
  };
  const CycleClock::Moment first = moment();
  std::vector<Reading> readings;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint before = monotonic_now();
    const uint64_t stamp = CycleClock::stamp();
    readings.push_back({before, stamp, monotonic_now()});
  }
  const CycleClock::Moment last = moment();
  for (const Reading& reading : readings) {
    const TimePoint told = CycleClock::time_of(reading.stamp, first, last);
    ASSERT_GE(told, reading.before - apart);
    ASSERT_LE(told, reading.after + apart);
  }
}

TEST(CycleClock, time_is_proportional_to_cycles) {
  constexpr TimePoint kStart{std::chrono::hours(1)};
  const CycleClock::Moment first{kStart, 1000};
  const CycleClock::Moment last{kStart + std::chrono::nanoseconds(500), 2000};
  EXPECT_EQ(CycleClock::time_of(1000, first, last), kStart);
  EXPECT_EQ(CycleClock::time_of(1500, first, last), kStart + std::chrono::nanoseconds(250));
  EXPECT_EQ(CycleClock::time_of(2000, first, last), last.time);
  EXPECT_EQ(CycleClock::time_of(2200, first, last), last.time + std::chrono::nanoseconds(100));
  EXPECT_EQ(CycleClock::time_of(1000, first, first), kStart);
}

TEST_F(CycleClockTest, stamps_of_one_thread_come_in_order) {
  uint64_t last = CycleClock::stamp();
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t next = CycleClock::stamp();
    ASSERT_GE(next, last);
    last = next;
  }
}

}  // namespace
}  // namespace peal
