// SPDX-License-Identifier: BSD-3-Clause
// How often the tests of one load against another are wrong: on simulated nulls at most 5 % of the time.
#include <load/statistics/comparison_stats.h>

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/record/recording.h>

namespace peal::load {
namespace {

using testing::DoubleNear;

constexpr int kTrials = 1000;
// Three standard deviations above 5 %.
constexpr int kMostWrong = 71;

// Throughputs that resemble the one before: AR(1) on a log scale, 10 % around `level`.
std::vector<double> series(std::mt19937_64& random, size_t count, double memory, double level) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = normal(random) / std::sqrt(1 - memory * memory);
  for (size_t i = 0; i < count; ++i) {
    values.push_back(level * std::exp(0.1 * state));
    state = memory * state + normal(random);
  }
  return values;
}

TEST(ComparisonStats, series_that_do_not_differ_are_told_apart_seldom) {
  std::mt19937_64 random(20260101);
  for (const double memory : {0.0, 0.5, 0.8}) {
    for (const size_t count : {10, 30, 60}) {
      int wrong = 0;
      for (int i = 0; i < kTrials; ++i) {
        const auto found = series_difference(series(random, count, memory, 1000), series(random, count, memory, 1000));
        wrong += found->p <= kAlpha ? 1 : 0;
      }
      EXPECT_LE(wrong, kMostWrong) << count << " values with memory " << memory;
    }
  }
}

TEST(ComparisonStats, series_that_differ_are_told_apart) {
  std::mt19937_64 random(20260102);
  int found = 0;
  int covered = 0;
  for (int i = 0; i < kTrials; ++i) {
    const auto difference = series_difference(series(random, 30, 0.3, 1000), series(random, 30, 0.3, 1250));
    found += difference->p <= kAlpha && difference->low > 1 ? 1 : 0;
    covered += difference->low <= 1.25 && 1.25 <= difference->high ? 1 : 0;
  }
  EXPECT_GE(found, 950);
  EXPECT_GE(covered, kTrials - kMostWrong);
}

TEST(ComparisonStats, too_short_a_series_says_nothing) {
  const std::vector<double> nine(9, 5.0);
  const std::vector<double> ten(10, 5.0);
  EXPECT_FALSE(series_difference(nine, ten).has_value());
  ASSERT_TRUE(series_difference(ten, ten).has_value());
  EXPECT_EQ(series_difference(ten, ten)->p, 1);
  std::vector<double> with_zero = ten;
  with_zero[3] = 0;
  EXPECT_FALSE(series_difference(with_zero, ten).has_value()) << "what is 0 has no logarithm";
}

TEST(ComparisonStats, the_exact_test_of_mann_and_whitney) {
  // scipy.stats.mannwhitneyu(method="exact"): 4 against 4 apart 2/70, 5 against 5 with U = 2 4/126 / 2.
  const auto apart = runs_difference(std::vector{1.0, 2.0, 3.0, 4.0}, std::vector{5.0, 6.0, 7.0, 8.0});
  ASSERT_TRUE(apart.has_value());
  EXPECT_THAT(apart->p, DoubleNear(2.0 / 70, 1e-12));
  const auto mixed = runs_difference(std::vector{1.0, 2.0, 3.0, 4.0, 7.0}, std::vector{5.0, 6.0, 8.0, 9.0, 10.0});
  EXPECT_THAT(mixed->p, DoubleNear(8.0 / 252, 1e-12));
  const auto equal = runs_difference(std::vector(4, 3.0), std::vector(4, 3.0));
  EXPECT_EQ(equal->p, 1) << "all ranks are shared";
  EXPECT_FALSE(runs_difference(std::vector(3, 1.0), std::vector(8, 2.0)).has_value());
}

TEST(ComparisonStats, runs_that_do_not_differ_are_told_apart_seldom) {
  std::mt19937_64 random(20260103);
  for (const size_t count : {4, 6, 10}) {
    int wrong = 0;
    int outside = 0;
    for (int i = 0; i < kTrials; ++i) {
      const auto found = runs_difference(series(random, count, 0, 1000), series(random, count, 0, 1000));
      wrong += found->p <= kAlpha ? 1 : 0;
      outside += found->low > 1 || found->high < 1 ? 1 : 0;
    }
    EXPECT_LE(wrong, kMostWrong) << count;
    EXPECT_LE(outside, kMostWrong) << count;
    EXPECT_EQ(wrong == 0, outside == 0) << "the interval inverts the test";
  }
}

TEST(ComparisonStats, the_bounds_of_a_percentile_cover_it) {
  std::mt19937_64 random(20260104);
  std::exponential_distribution<double> exponential(1e-6);
  const double truth = std::log(100) * 1e6;  // its 99th percentile
  int missed = 0;
  for (int i = 0; i < kTrials; ++i) {
    Histogram times(kLatencyRange);
    for (int k = 0; k < 2000; ++k) times.record(static_cast<int64_t>(exponential(random)));
    const auto [low, high] = percentile_bounds(times, 99);
    EXPECT_LE(low, times.value_at_percentile(99));
    EXPECT_GE(high, times.value_at_percentile(99));
    missed += static_cast<double>(low) > truth || truth > static_cast<double>(high) ? 1 : 0;
  }
  EXPECT_LE(missed, kMostWrong);
}

TEST(ComparisonStats, too_few_samples_bound_nothing) {
  Histogram times(kLatencyRange);
  EXPECT_EQ(percentile_bounds(times, 99), (std::pair<int64_t, int64_t>(0, 0)));
  for (int i = 1; i <= 20; ++i) times.record(i * 1000);
  EXPECT_EQ(percentile_bounds(times, 99).second, times.max());
}

}  // namespace
}  // namespace peal::load
