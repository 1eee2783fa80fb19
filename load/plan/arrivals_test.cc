// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/arrivals.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

constexpr TimePoint kStart{std::chrono::hours(5)};
constexpr int kDraws = 2000;

struct NamedPlan {
  std::string name;
  ArrivalPlan plan;
};

std::vector<NamedPlan> known_plans() {
  return {{"constant", ArrivalPlan::constant(1234.5)},
          {"constant, many", ArrivalPlan::constant(3e8)},
          {"constant, few", ArrivalPlan::constant(0.7)},
          {"ramp", ArrivalPlan::ramp(10, 5000, 800ms)},
          {"ramp from nothing", ArrivalPlan::ramp(0, 1e6, 3s)},
          {"ramp to nothing", ArrivalPlan::ramp(1000, 0, 1s)},
          {"step", ArrivalPlan::steps({100, 0, 333.3, 7}, 250ms)},
          {"step to nothing", ArrivalPlan::steps({100, 1000, 0}, 300ms)},
          {"burst", ArrivalPlan::bursts(7, 13ms)},
          {"file", ArrivalPlan::at({0ms, 1ms, 1ms, 1ms, 20ms, 21ms, 1s})}};
}

std::vector<NamedPlan> all_plans() {
  std::vector<NamedPlan> plans = known_plans();
  plans.push_back({"poisson", ArrivalPlan::poisson(5000)});
  return plans;
}

std::vector<TimePoint> first_arrivals(ArrivalCursor cursor, size_t most) {
  std::vector<TimePoint> all;
  for (; all.size() < most && cursor.due() != kNever; cursor.advance()) all.push_back(cursor.due());
  return all;
}

// Returns the times of all arrivals before `end`, of all threads together, in ascending order.
std::vector<TimePoint> together(const ArrivalPlan& plan, uint64_t seed, uint64_t threads, TimePoint end) {
  std::vector<TimePoint> all;
  for (uint64_t thread = 0; thread < threads; ++thread) {
    for (ArrivalCursor cursor(plan, kStart, seed, thread, threads); cursor.due() < end; cursor.advance()) {
      all.push_back(cursor.due());
    }
  }
  std::ranges::sort(all);
  return all;
}

// The Kolmogorov-Smirnov test. Returns the largest difference between the distribution of the gaps and the exponential
// distribution with the mean `mean_ns`, times sqrt(n). If the gaps really have that distribution, the value exceeds
// 1.6276 in only one of a hundred samples.
double kolmogorov(const std::vector<TimePoint>& arrivals, double mean_ns) {
  std::vector<double> gaps;
  TimePoint before = kStart;
  for (const TimePoint due : arrivals) {
    gaps.push_back(static_cast<double>((due - before).count()));
    before = due;
  }
  std::ranges::sort(gaps);
  const auto n = static_cast<double>(gaps.size());
  double distance = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    const double share = 1 - std::exp(-gaps[i] / mean_ns);
    distance = std::max({distance, static_cast<double>(i + 1) / n - share, share - static_cast<double>(i) / n});
  }
  return distance * std::sqrt(n);
}

constexpr double kOneInHundred = 1.6276;

TEST(Arrivals, poisson_gaps_are_exponential) {
  const ArrivalPlan plan = ArrivalPlan::poisson(10'000);
  int exceeded = 0;
  int exceeded_at_wrong_rate = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<TimePoint> arrivals = first_arrivals(ArrivalCursor(plan, kStart, seed, 0, 1), kDraws);
    if (kolmogorov(arrivals, 100'000) > kOneInHundred) ++exceeded;
    if (kolmogorov(arrivals, 100'000 * 1.15) > kOneInHundred) ++exceeded_at_wrong_rate;
  }
  EXPECT_GT(exceeded, 0);  // two of 200 are expected; if there were none, the limit would be too high to show anything
  EXPECT_LE(exceeded, 6);
  EXPECT_GE(exceeded_at_wrong_rate, 195);
}

TEST(Arrivals, the_gaps_of_all_seeds_together_are_exponential_and_a_rate_off_by_one_percent_is_seen) {
  const ArrivalPlan plan = ArrivalPlan::poisson(10'000);
  std::vector<TimePoint> joined;
  Duration shift{};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (const TimePoint due : first_arrivals(ArrivalCursor(plan, kStart, seed, 0, 1), kDraws)) {
      joined.push_back(due + shift);
    }
    shift = joined.back() - kStart;
  }
  EXPECT_LT(kolmogorov(joined, 100'000), kOneInHundred);
  EXPECT_GT(kolmogorov(joined, 99'000), kOneInHundred);
  EXPECT_GT(kolmogorov(joined, 101'000), kOneInHundred);
}

TEST(Arrivals, equal_gaps_and_uniform_gaps_fail_the_test_that_poisson_gaps_pass) {
  EXPECT_GT(kolmogorov(first_arrivals(ArrivalCursor(ArrivalPlan::constant(10'000), kStart, 1, 0, 1), kDraws), 100'000),
            10 * kOneInHundred);
  std::vector<TimePoint> uniform;
  TimePoint at = kStart;
  for (int64_t i = 0; i < kDraws; ++i) uniform.push_back(at += 1ns + 100ns * (i * 7919 % kDraws));
  EXPECT_GT(kolmogorov(uniform, 100'000), 3 * kOneInHundred);
}

TEST(Arrivals, poisson_threads_together_are_one_poisson_process) {
  const std::vector<TimePoint> all = together(ArrivalPlan::poisson(10'000), 42, 4, kStart + 20s);
  EXPECT_LT(kolmogorov(all, 100'000), kOneInHundred);
  EXPECT_GT(kolmogorov(all, 103'000), kOneInHundred);
  EXPECT_NEAR(static_cast<double>(all.size()), 200'000, 4 * std::sqrt(200'000));
}

TEST(Arrivals, a_seed_draws_the_same_again_and_another_seed_or_thread_does_not) {
  const ArrivalPlan plan = ArrivalPlan::poisson(1000);
  const auto drawn = first_arrivals(ArrivalCursor(plan, kStart, 7, 0, 2), 100);
  EXPECT_EQ(drawn, first_arrivals(ArrivalCursor(plan, kStart, 7, 0, 2), 100));
  EXPECT_NE(drawn[0], ArrivalCursor(plan, kStart, 8, 0, 2).due());
  EXPECT_NE(drawn[0], ArrivalCursor(plan, kStart, 7, 1, 2).due());
}

TEST(Arrivals, threads_take_turns_and_offer_exactly_the_plan) {
  for (const auto& [name, plan] : known_plans()) {
    const TimePoint end = kStart + (name == "constant, many" || name == "ramp from nothing" ? 100us : 1100ms);
    const std::vector<TimePoint> alone = together(plan, 0, 1, end);
    EXPECT_EQ(together(plan, 0, 3, end), alone) << name;
    EXPECT_EQ(static_cast<double>(alone.size()), plan.expected_count(0ns, end - kStart)) << name;
    for (size_t k = 0; k < alone.size(); ++k) ASSERT_EQ(alone[k], kStart + plan.due(k)) << name << " " << k;
  }
}

TEST(Arrivals, a_stall_in_the_middle_moves_nothing_and_is_counted) {
  for (const auto& [name, plan] : all_plans()) {
    if (name == "constant, many") continue;
    const std::vector<TimePoint> expected = first_arrivals(ArrivalCursor(plan, kStart, 3, 1, 2), 2000);
    ArrivalCursor cursor(plan, kStart, 3, 1, 2);
    size_t taken = 0;
    // Asks the cursor at the start, after a pause of 1.4 s in which nothing was sent, and 1 ms later.
    for (const TimePoint now : {kStart, kStart + 1400ms, kStart + 1401ms}) {
      const uint64_t waiting = cursor.due_by(now);
      for (uint64_t i = 0; i < waiting; ++i, ++taken, cursor.advance()) {
        ASSERT_LE(cursor.due(), now) << name;
        if (taken < expected.size()) {
          ASSERT_EQ(cursor.due(), expected[taken]) << name;
        }
      }
      EXPECT_GT(cursor.due(), now) << name;
      EXPECT_EQ(cursor.due_by(now), 0U) << name;
    }
  }
}

TEST(Arrivals, due_by_agrees_with_when_each_arrival_is_due) {
  for (const auto& [name, plan] : all_plans()) {
    for (const uint64_t thread : {0, 2}) {
      const std::vector<TimePoint> expected = first_arrivals(ArrivalCursor(plan, kStart, 9, thread, 3), 1500);
      ArrivalCursor cursor(plan, kStart, 9, thread, 3);
      for (size_t k = 0; k + 2 < expected.size(); k += 7) {
        for (const TimePoint now : {expected[k] - 1ns, expected[k], expected[k] + 1ns}) {
          const auto due = std::ranges::upper_bound(expected, now);
          if (due == expected.end()) continue;
          const auto before = static_cast<size_t>(due - expected.begin());
          EXPECT_EQ(cursor.due_by(now), before > k ? before - k : 0) << name << " " << k;
        }
        for (int i = 0; i < 7; ++i) cursor.advance();
      }
    }
  }
}

TEST(Arrivals, nothing_is_due_before_the_start) {
  const ArrivalPlan plan = ArrivalPlan::constant(10);
  EXPECT_EQ(ArrivalCursor(plan, kStart, 0, 0, 1).due_by(kStart - 1ns), 0U);
  EXPECT_EQ(ArrivalCursor(plan, kStart, 0, 0, 1).due_by(kStart), 1U);
  EXPECT_EQ(ArrivalCursor(plan, kStart, 0, 3, 4).due_by(kStart + 299ms), 0U);
  EXPECT_EQ(ArrivalCursor(plan, kStart, 0, 3, 4).due_by(kStart + 300ms), 1U);
}

TEST(Arrivals, a_plan_that_is_over_stays_over) {
  for (const ArrivalPlan& plan : {ArrivalPlan::at({1ms, 2ms}), ArrivalPlan::steps({2, 0}, 1s)}) {
    ArrivalCursor cursor(plan, kStart, 0, 0, 1);
    EXPECT_EQ(cursor.due_by(kNever), 2U);
    cursor.advance();
    EXPECT_EQ(cursor.due_by(kNever), 1U);
    for (int i = 0; i < 3; ++i) {
      cursor.advance();
      EXPECT_EQ(cursor.due(), kNever);
      EXPECT_EQ(cursor.due_by(kNever), 0U);
    }
  }
  ArrivalCursor second(ArrivalPlan::at({1ms, 2ms}), kStart, 0, 2, 3);
  EXPECT_EQ(second.due(), kNever);
}

TEST(Arrivals, what_is_due_in_a_hundred_years_is_never_due) {
  for (const ArrivalPlan& plan : {ArrivalPlan::constant(1e-300), ArrivalPlan::poisson(1e-300)}) {
    ArrivalCursor cursor(plan, kStart, 1, 1, 2);
    EXPECT_EQ(cursor.due(), kNever);
    cursor.advance();
    EXPECT_EQ(cursor.due_by(kNever), 0U);
  }
}

TEST(Arrivals, pass_before_passes_what_stepping_would_pass) {
  for (const NamedPlan& named : all_plans()) {
    for (const Duration limit : {Duration(0), Duration(1ns), Duration(20ms), Duration(21ms), Duration(300ms)}) {
      ArrivalCursor stepped(named.plan, kStart, 1, 1, 3);
      ArrivalCursor jumped = stepped;
      // At 3e8 arrivals per second, the longest limit would take this thread's cursor 30 million steps. The shorter
      // limits are enough.
      if (named.name == "constant, many" && limit > 20ms) continue;
      uint64_t passed = 0;
      for (; stepped.due() < kStart + limit; ++passed) stepped.advance();
      EXPECT_EQ(jumped.pass_before(kStart + limit), passed) << named.name;
      EXPECT_EQ(jumped.due(), stepped.due()) << named.name << ", " << limit.count() << " ns";
      EXPECT_EQ(jumped.due_by(kStart + 400ms), stepped.due_by(kStart + 400ms)) << named.name;
      EXPECT_EQ(jumped.pass_before(kStart + limit), 0U) << named.name;
    }
  }
}

TEST(Arrivals, a_billion_a_second_are_passed_over_at_once) {
  ArrivalCursor cursor(ArrivalPlan::constant(1e9), kStart, 1, 0, 1);
  EXPECT_EQ(cursor.pass_before(kStart + std::chrono::hours(1)), uint64_t{3'600'000'000'000});
  EXPECT_EQ(cursor.due(), kStart + std::chrono::hours(1));
}

}  // namespace
}  // namespace peal::load
