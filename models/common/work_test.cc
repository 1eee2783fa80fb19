// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/work.h>

#include <chrono>
#include <ctime>

#include <gtest/gtest.h>

namespace peal::models {
namespace {

using std::chrono::milliseconds;

Duration cpu_time_of_this_thread() {
  timespec now{};
  EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

TEST(WorkTest, computes_for_as_long_as_it_says) {
  const Duration before = cpu_time_of_this_thread();
  do_work({.time = milliseconds(5), .kind = Work::Kind::kCpu});
  EXPECT_GE(cpu_time_of_this_thread() - before, milliseconds(5));
}

TEST(WorkTest, sleeps_for_as_long_as_it_says_and_computes_nothing) {
  const Duration cpu_before = cpu_time_of_this_thread();
  const TimePoint before = monotonic_now();
  do_work({.time = milliseconds(50), .kind = Work::Kind::kSleep});
  EXPECT_GE(monotonic_now() - before, milliseconds(50));
  EXPECT_LT(cpu_time_of_this_thread() - cpu_before, milliseconds(25));
}

TEST(WorkTest, without_a_time_no_work_is_done) {
  const Duration before = cpu_time_of_this_thread();
  for (int i = 0; i < 1000; ++i) do_work({});
  EXPECT_LT(cpu_time_of_this_thread() - before, milliseconds(50));
}

}  // namespace
}  // namespace peal::models
