// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/arrival_plan.h>

#include <cmath>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;

TEST(ArrivalPlan, a_constant_rate_has_equal_distances_and_does_not_drift) {
  EXPECT_EQ(ArrivalPlan::constant(1000).due(0), 0ns);
  EXPECT_EQ(ArrivalPlan::constant(1000).due(12'345), 12'345ms);
  const ArrivalPlan thirds = ArrivalPlan::constant(3);
  EXPECT_EQ(thirds.due(1), 333'333'333ns);
  EXPECT_EQ(thirds.due(2), 666'666'667ns);
  for (const uint64_t k : {3ULL, 3000ULL, 3'000'000ULL}) EXPECT_EQ(thirds.due(k), std::chrono::seconds(k / 3)) << k;
}

TEST(ArrivalPlan, a_ramp_follows_the_integral_of_its_rate_and_then_holds) {
  // During the ramp of 4 s, 1000 t + 500 t^2 arrivals are due by the time t in seconds: 12,000 at its end. After that,
  // 5000 arrivals are due each second.
  const ArrivalPlan plan = ArrivalPlan::ramp(1000, 5000, 4s);
  EXPECT_EQ(plan.due(0), 0s);
  EXPECT_EQ(plan.due(1500), 1s);
  EXPECT_EQ(plan.due(4000), 2s);
  EXPECT_EQ(plan.due(12'000), 4s);
  EXPECT_EQ(plan.due(17'000), 5s);
  EXPECT_EQ(plan.due(1), Duration(std::llround((std::sqrt(1e6 + 2000) - 1000) / 1000 * 1e9)));
  EXPECT_EQ(plan.expected_count(1s, 2s), 2500);
  EXPECT_EQ(plan.expected_count(4s, 6s), 10'000);
}

TEST(ArrivalPlan, a_ramp_may_begin_or_end_with_nothing) {
  // By the time t in seconds, the ramp up has 500 t^2 arrivals, and the ramp down has 2000 t - 500 t^2. At the end of 2
  // s, both have 2000. After that, the ramp down has no arrivals.
  const ArrivalPlan up = ArrivalPlan::ramp(0, 2000, 2s);
  EXPECT_EQ(up.due(0), 0s);
  EXPECT_EQ(up.due(500), 1s);
  EXPECT_EQ(up.due(2000), 2s);
  EXPECT_EQ(up.due(4000), 3s);
  const ArrivalPlan down = ArrivalPlan::ramp(2000, 0, 2s);
  EXPECT_EQ(down.due(1500), 1s);
  EXPECT_LT(down.due(1999), 2s);
  EXPECT_EQ(down.due(2000), kNotDue);
  EXPECT_EQ(down.count_by(kNotDue), 2000U);
}

TEST(ArrivalPlan, steps_hold_each_rate_for_its_time_and_the_last_for_good) {
  const ArrivalPlan plan = ArrivalPlan::steps({1000, 2000, 4000}, 5s);
  EXPECT_EQ(plan.due(4999), 4999ms);
  EXPECT_EQ(plan.due(5000), 5s);
  EXPECT_EQ(plan.due(5001), 5s + 500'000ns);
  EXPECT_EQ(plan.due(15'000), 10s);
  EXPECT_EQ(plan.due(15'004), 10'001ms);
  EXPECT_EQ(plan.due(15'000 + 400'000), 110s);
  EXPECT_EQ(plan.expected_count(0s, 15s), 5000 + 10'000 + 20'000);
}

TEST(ArrivalPlan, a_step_without_requests_is_a_pause) {
  const ArrivalPlan plan = ArrivalPlan::steps({10, 0, 0, 10}, 1s);
  EXPECT_EQ(plan.due(9), 900ms);
  EXPECT_EQ(plan.due(10), 3s);
  EXPECT_EQ(plan.expected_count(1s, 3s), 0);
  EXPECT_EQ(ArrivalPlan::steps({0, 5}, 1s).due(0), 1s);
}

TEST(ArrivalPlan, a_burst_comes_at_once_and_again_each_period) {
  const ArrivalPlan plan = ArrivalPlan::bursts(100, 50ms);
  EXPECT_EQ(plan.due(99), 0s);
  EXPECT_EQ(plan.due(100), 50ms);
  EXPECT_EQ(plan.due(199), 50ms);
  EXPECT_EQ(plan.due(100'000), 50s);
  EXPECT_EQ(plan.count_by(50ms - 1ns), 100U);
  EXPECT_EQ(plan.count_by(50ms), 200U);
  EXPECT_EQ(plan.expected_count(50ms, 100ms), 100);
  EXPECT_EQ(plan.expected_count(0s, 10s), 20'000);
}

TEST(ArrivalPlan, arrivals_from_a_list_end) {
  const ArrivalPlan plan = ArrivalPlan::at({1ms, 2ms, 2ms, 7ms});
  EXPECT_EQ(plan.due(2), 2ms);
  EXPECT_EQ(plan.due(4), kNotDue);
  EXPECT_EQ(plan.expected_count(2ms, 7ms), 2);
  EXPECT_EQ(plan.expected_count(0ms, 8ms), 4);
}

TEST(ArrivalPlan, windows_side_by_side_add_up) {
  for (const ArrivalPlan& plan : {ArrivalPlan::constant(777.7), ArrivalPlan::ramp(3, 12'345, 700ms),
                                  ArrivalPlan::steps({0.5, 999, 31}, 333ms), ArrivalPlan::bursts(3, 17ms)}) {
    double sum = 0;
    for (Duration from{}; from < 2s; from += 7'654'321ns) sum += plan.expected_count(from, from + 7'654'321ns);
    EXPECT_EQ(sum, plan.expected_count(0s, 262 * 7'654'321ns));
    EXPECT_EQ(plan.expected_count(-5s, 1s), plan.expected_count(0s, 1s));
    EXPECT_EQ(plan.expected_count(1s, 1s), 0);
  }
  EXPECT_DOUBLE_EQ(ArrivalPlan::poisson(1500).expected_count(1s, 3s), 3000);
}

TEST(ArrivalPlan, counts_agree_with_when_each_is_due) {
  for (const ArrivalPlan& plan :
       {ArrivalPlan::constant(0.7), ArrivalPlan::constant(1e9), ArrivalPlan::constant(1'000'003),
        ArrivalPlan::ramp(0, 1e9, std::chrono::hours(1)), ArrivalPlan::ramp(1e9, 1, std::chrono::hours(1)),
        ArrivalPlan::ramp(5, 1e6, 1ns), ArrivalPlan::steps({1e9, 0.001, 1e9}, 1s)}) {
    Duration before{};
    for (const uint64_t k : {0ULL, 1ULL, 2ULL, 999ULL, 1'000'000ULL, 1'000'000'001ULL, 77'777'777'777ULL}) {
      const Duration due = plan.due(k);
      if (due == kNotDue) continue;
      EXPECT_GE(due, before) << k;
      before = due;
      EXPECT_GT(plan.count_by(due), k);
      EXPECT_LE(plan.due(plan.count_by(due) - 1), due) << k;
      EXPECT_GT(plan.due(plan.count_by(due)), due) << k;
      EXPECT_LE(plan.count_by(due - 1ns), k);
    }
  }
}

TEST(ArrivalPlan, a_plan_that_makes_no_sense_is_a_bug) {
  EXPECT_DEATH(ArrivalPlan::constant(0), "0 arrivals a second");
  EXPECT_DEATH(ArrivalPlan::ramp(0, 0, 1s), "from 0 to 0");
  EXPECT_DEATH(ArrivalPlan::steps({}, 1s), "0 steps");
  EXPECT_DEATH(ArrivalPlan::bursts(10, 1ns), "10 arrivals each 1 ns");
  EXPECT_DEATH(ArrivalPlan::at({2s, 1s}), "2 offsets");
  EXPECT_DEATH(ArrivalPlan::poisson(5).due(3), "arrival 3 of a Poisson plan");
}

}  // namespace
}  // namespace peal::load
