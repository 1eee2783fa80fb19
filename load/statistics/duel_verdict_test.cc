// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/duel_verdict.h>

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

constexpr Bar kAtMost105{.side = Bar::Side::kAtMost, .ratio = 1.05};
constexpr Bar kAtLeast105{.side = Bar::Side::kAtLeast, .ratio = 1.05};

// Of 16 restarts that scatter so that the margin is about `margin`.
RatioEstimate about(double ratio, double margin) {
  constexpr double kHalfOfSpread1 = 0.5503;  // t(0.975, 15) sqrt(16 / 15) / 4
  std::vector<double> logs;
  for (const int sign : {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1}) {
    logs.push_back(std::log(ratio) + sign * margin / kHalfOfSpread1);
  }
  return RatioEstimate(logs);
}

BarVerdict bar_of(const RatioEstimate& ratio, const Bar& bar) {
  return judge_bar(ratio, bar, ratio.p(bar.ratio), false);
}

PairVerdict pair_of(const RatioEstimate& ratio) { return judge_pair(ratio, ratio.p(1), false); }

TEST(DuelVerdict, a_bar_is_met_where_the_interval_is_on_its_side) {
  EXPECT_EQ(bar_of(about(1.0, 0.03), kAtMost105), BarVerdict::kMet);
  EXPECT_EQ(bar_of(about(1.0, 0.03), kAtLeast105), BarVerdict::kNotMet);
  EXPECT_EQ(bar_of(about(1.1, 0.03), kAtMost105), BarVerdict::kNotMet);
  EXPECT_EQ(bar_of(about(1.1, 0.03), kAtLeast105), BarVerdict::kMet);
}

TEST(DuelVerdict, a_narrow_interval_that_holds_the_bar_is_at_it) {
  EXPECT_EQ(bar_of(about(1.04, 0.019), kAtMost105), BarVerdict::kAtTheBar);
  EXPECT_EQ(bar_of(about(1.06, 0.019), kAtMost105), BarVerdict::kAtTheBar);
  EXPECT_EQ(bar_of(about(1.04, 0.021), kAtMost105), BarVerdict::kCannotTell);
  EXPECT_EQ(bar_of(about(1.02, 0.019), kAtMost105), BarVerdict::kMet);
  // Beside many claims one that its interval just does not hold.
  EXPECT_EQ(judge_bar(about(1.033, 0.015), kAtMost105, 0.08, false), BarVerdict::kAtTheBar);
  EXPECT_EQ(judge_bar(about(1.02, 0.015), kAtMost105, 0.08, false), BarVerdict::kCannotTell);
}

TEST(DuelVerdict, beside_many_claims_the_interval_alone_does_not_decide) {
  const RatioEstimate ratio = about(1.0, 0.04);
  EXPECT_EQ(judge_bar(ratio, kAtMost105, 0.05, false), BarVerdict::kMet);
  EXPECT_EQ(judge_bar(ratio, kAtMost105, 0.0501, false), BarVerdict::kCannotTell);
  EXPECT_EQ(judge_bar(ratio, kAtMost105, std::nan(""), false), BarVerdict::kCannotTell);
  EXPECT_EQ(why_not_told(ratio, kAtMost105, 0.08, false), "p is 0.08");
}

TEST(DuelVerdict, a_pair_differs_by_one_percent_or_is_not_said_to) {
  EXPECT_EQ(pair_of(about(0.95, 0.02)), PairVerdict::kLess);
  EXPECT_EQ(pair_of(about(1.05, 0.02)), PairVerdict::kMore);
  EXPECT_EQ(pair_of(about(0.985, 0.003)), PairVerdict::kLess) << "before it is level";
  EXPECT_EQ(pair_of(about(1.009, 0.003)), PairVerdict::kLevel);
  EXPECT_EQ(pair_of(about(1.05, 0.045)), PairVerdict::kCannotTell) << "p is above 0.01";
}

TEST(DuelVerdict, a_pair_is_level_where_the_interval_is_wholly_near_one) {
  EXPECT_EQ(pair_of(about(1.0, 0.019)), PairVerdict::kLevel);
  EXPECT_EQ(pair_of(about(1.005, 0.012)), PairVerdict::kLevel);
  EXPECT_EQ(pair_of(about(1.005, 0.019)), PairVerdict::kCannotTell);
  EXPECT_EQ(pair_of(about(1.0, 0.021)), PairVerdict::kCannotTell);
}

TEST(DuelVerdict, a_duel_whose_twin_differs_claims_nothing) {
  const RatioEstimate clear = about(1.5, 0.01);
  EXPECT_TRUE(differs_from_itself(about(1.03, 0.01)));
  EXPECT_TRUE(differs_from_itself(about(0.97, 0.01)));
  EXPECT_FALSE(differs_from_itself(about(1.03, 0.04)));
  EXPECT_FALSE(differs_from_itself(about(1.009, 0.003)));
  EXPECT_EQ(judge_pair(clear, 0, true), PairVerdict::kCannotTell);
  EXPECT_EQ(judge_bar(clear, kAtMost105, 0, true), BarVerdict::kCannotTell);
  EXPECT_EQ(judge_bar(about(1.05, 0.01), kAtMost105, 1, true), BarVerdict::kCannotTell);
  EXPECT_EQ(why_not_told(clear, 0, true), "the same program differs from itself");
  EXPECT_EQ(why_not_told(clear, kAtMost105, 0, true), "the same program differs from itself");
}

TEST(DuelVerdict, too_few_restarts_tell_nothing) {
  const RatioEstimate few(std::vector{0.5, 0.5, 0.5});
  EXPECT_FALSE(differs_from_itself(few));
  EXPECT_EQ(pair_of(few), PairVerdict::kCannotTell);
  EXPECT_EQ(bar_of(few, kAtMost105), BarVerdict::kCannotTell);
  EXPECT_EQ(why_not_told(few, kAtMost105, 1, false), "too few restarts");
  EXPECT_EQ(why_not_told(few, 1, false), "too few restarts");
}

TEST(DuelVerdict, values_without_scatter_decide) {
  const std::vector<double> equal(6, std::log(1.05));
  EXPECT_EQ(bar_of(RatioEstimate(equal), kAtMost105), BarVerdict::kAtTheBar);
  EXPECT_EQ(bar_of(RatioEstimate(equal), {.ratio = 1.06}), BarVerdict::kMet);
  EXPECT_EQ(pair_of(RatioEstimate(equal)), PairVerdict::kMore);
  EXPECT_EQ(pair_of(RatioEstimate(std::vector(6, 0.0))), PairVerdict::kLevel);
}

TEST(DuelVerdict, why_in_a_few_words) {
  EXPECT_EQ(why_not_told(about(1.04, 0.04), kAtMost105, 0.5, false), "the interval holds 1.05");
  EXPECT_EQ(why_not_told(about(1.04, 0.01), kAtMost105, 0.5, false), "") << "it is at the bar";
  EXPECT_EQ(why_not_told(about(1.01, 0.04), 0.5, false), "the interval holds 1");
  EXPECT_EQ(why_not_told(about(1.05, 0.04), 0.0234, false), "p is 0.0234");
  EXPECT_EQ(why_not_told(about(1.0099, 0.0097), 0.02, false), "");
  EXPECT_EQ(why_not_told(about(1.0095, 0.0093), 0.02, false), "");
  EXPECT_EQ(why_not_told(about(1.5, 0.01), 0, false), "");
}

TEST(DuelVerdict, a_bar_that_is_no_ratio_cannot_be_told) {
  EXPECT_EQ(bar_of(about(1.0, 0.03), {.ratio = 0}), BarVerdict::kCannotTell);
  EXPECT_EQ(bar_of(about(1.0, 0.03), {.ratio = std::nan("")}), BarVerdict::kCannotTell);
}

TEST(DuelVerdict, the_words) {
  EXPECT_EQ(to_string(BarVerdict::kMet), "met");
  EXPECT_EQ(to_string(BarVerdict::kNotMet), "not met");
  EXPECT_EQ(to_string(BarVerdict::kAtTheBar), "at the bar");
  EXPECT_EQ(to_string(BarVerdict::kCannotTell), "cannot tell");
  EXPECT_EQ(to_string(PairVerdict::kLess), "less");
  EXPECT_EQ(to_string(PairVerdict::kMore), "more");
  EXPECT_EQ(to_string(PairVerdict::kLevel), "level");
  EXPECT_EQ(to_string(PairVerdict::kCannotTell), "cannot tell");
}

}  // namespace
}  // namespace peal::load
