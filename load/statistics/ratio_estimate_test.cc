// SPDX-License-Identifier: BSD-3-Clause
// The expected values were computed with scipy.stats 1.10 (t.isf and ttest_1samp).
#include <load/statistics/ratio_estimate.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kLogs{0.031, 0.058, 0.042, 0.071, 0.012, 0.049, 0.066, 0.038, 0.055, 0.020, 0.044, 0.061};
const std::span<const double> kPilotLogs = std::span(kLogs).first(8);

void expect_unknown(const RatioEstimate& estimate) {
  EXPECT_FALSE(estimate.known());
  EXPECT_EQ(estimate.low(), 0);
  EXPECT_EQ(estimate.high(), kInfinite);
  EXPECT_EQ(estimate.margin(), kInfinite);
  EXPECT_EQ(estimate.p(1), 1);
  EXPECT_TRUE(estimate.holds(1));
}

TEST(RatioEstimate, the_interval_and_p_follow_students_t) {
  const RatioEstimate estimate(kLogs);
  EXPECT_EQ(estimate.restarts(), 12);
  EXPECT_TRUE(estimate.known());
  EXPECT_NEAR(estimate.ratio(), 1.0466382208316252, 1e-12);
  EXPECT_NEAR(estimate.low(), 1.034638961584678, 1e-9);
  EXPECT_NEAR(estimate.high(), 1.058776641880729, 1e-9);
  EXPECT_NEAR(estimate.margin(), 0.01159753275535736, 1e-9);
  EXPECT_NEAR(estimate.p(1), 2.9140941694709237e-06, 1e-15);
  EXPECT_NEAR(estimate.p(1.05), 0.5529031472173263, 1e-9);
}

TEST(RatioEstimate, the_interval_contains_what_p_does_not_reject) {
  const RatioEstimate estimate(kLogs);
  for (double bound = 1.03; bound < 1.065; bound += 0.0007) {
    EXPECT_EQ(estimate.holds(bound), estimate.p(bound) > 0.05) << bound;
    EXPECT_EQ(estimate.holds(bound), estimate.low() <= bound && bound <= estimate.high()) << bound;
  }
}

TEST(RatioEstimate, fewer_than_four_restarts_give_no_interval) {
  for (const size_t count : {0, 1, 3}) {
    SCOPED_TRACE(count);
    const RatioEstimate estimate{std::span(kLogs).first(count)};
    EXPECT_EQ(estimate.restarts(), count);
    EXPECT_EQ(std::isnan(estimate.ratio()), count == 0);
    expect_unknown(estimate);
  }
  EXPECT_TRUE(RatioEstimate(std::span(kLogs).first(4)).known());
}

TEST(RatioEstimate, equal_values_have_an_interval_of_no_width) {
  const std::vector<double> equal(7, std::log(1.05));
  const RatioEstimate estimate(equal);
  EXPECT_NEAR(estimate.low(), 1.05, 1e-12);
  EXPECT_EQ(estimate.low(), estimate.high());
  EXPECT_EQ(estimate.margin(), 0);
  EXPECT_TRUE(estimate.holds(1.05));
  EXPECT_EQ(estimate.p(1.05), 1);
  EXPECT_FALSE(estimate.holds(1));
  EXPECT_EQ(estimate.p(1), 0);
  EXPECT_EQ(restarts_needed(equal, 0.02), 7);
}

TEST(RatioEstimate, restarts_without_a_value_are_left_out) {
  std::vector<double> logs = kLogs;
  logs.insert(logs.begin() + 2, kNotANumber);
  logs.insert(logs.begin() + 5, kInfinite);
  logs.push_back(-kInfinite);
  EXPECT_EQ(RatioEstimate(logs).restarts(), 12);
  EXPECT_EQ(RatioEstimate(logs).low(), RatioEstimate(kLogs).low());
  expect_unknown(RatioEstimate(std::vector(9, kNotANumber)));
}

TEST(RatioEstimate, a_bound_that_is_no_positive_number_is_never_rejected) {
  for (const double bound : {0.0, -1.0, kNotANumber}) {
    EXPECT_EQ(RatioEstimate(kLogs).p(bound), 1);
    EXPECT_TRUE(RatioEstimate(kLogs).holds(bound));
  }
}

TEST(RatioEstimate, how_many_restarts_a_precision_needs) {
  // For these four precisions, t(0.975, 7)^2 * s^2 / ln(1 + precision)^2 is 0.89, 5.4, 21.3 and 84.7.
  EXPECT_EQ(restarts_needed(kPilotLogs, 0.05), 8) << "never fewer than the pilot had";
  EXPECT_EQ(restarts_needed(kPilotLogs, 0.02), 8);
  EXPECT_EQ(restarts_needed(kPilotLogs, 0.01), 22);
  EXPECT_EQ(restarts_needed(kPilotLogs, 0.005), 85);
  std::vector<double> logs(kPilotLogs.begin(), kPilotLogs.end());
  logs.push_back(kNotANumber);
  EXPECT_EQ(restarts_needed(logs, 0.01), 23) << "a restart without a value is played, but narrows nothing";
}

TEST(RatioEstimate, a_precision_that_no_number_of_restarts_reaches) {
  EXPECT_EQ(restarts_needed(kPilotLogs, 0), SIZE_MAX);
  EXPECT_EQ(restarts_needed(kPilotLogs, -0.01), SIZE_MAX);
  EXPECT_EQ(restarts_needed(kPilotLogs, kNotANumber), SIZE_MAX);
  EXPECT_EQ(restarts_needed(kPilotLogs, 1e-12), SIZE_MAX);
  EXPECT_EQ(restarts_needed(kPilotLogs.first(3), 0.02), SIZE_MAX) << "three restarts say too little about the scatter";
  EXPECT_EQ(restarts_needed({}, 0.02), SIZE_MAX);
}

TEST(RatioEstimate, the_value_of_a_restart_is_the_logarithm_of_a_ratio) {
  EXPECT_DOUBLE_EQ(restart_value(3, 2), std::log(1.5));
  for (const double nothing : {0.0, -1.0, kNotANumber, kInfinite}) {
    EXPECT_TRUE(std::isnan(restart_value(nothing, 2))) << nothing;
    EXPECT_TRUE(std::isnan(restart_value(3, nothing))) << nothing;
  }
}

}  // namespace
}  // namespace peal::load
