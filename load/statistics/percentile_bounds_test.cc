// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/percentile_bounds.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <load/record/recording.h>

namespace peal::load {
namespace {

constexpr int kTrials = 1000;
// The limit of wrong bounds: 5 % of the trials, plus three standard deviations.
constexpr int kMostWrong = 71;

TEST(PercentileBounds, the_bounds_of_a_percentile_cover_it) {
  std::mt19937_64 random(20260104);
  std::exponential_distribution<double> exponential(1e-6);
  const double truth = std::log(100) * 1e6;  // the true 99th percentile
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

TEST(PercentileBounds, too_few_samples_give_the_whole_range) {
  Histogram times(kLatencyRange);
  EXPECT_EQ(percentile_bounds(times, 99), (std::pair<int64_t, int64_t>(0, 0)));
  for (int i = 1; i <= 20; ++i) times.record(i * 1000);
  EXPECT_EQ(percentile_bounds(times, 99).second, times.max());
}

}  // namespace
}  // namespace peal::load
