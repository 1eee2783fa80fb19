// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/ratio_judge.h>

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

constexpr Bar kAtMost105{.side = Bar::Side::kAtMost, .ratio = 1.05};
constexpr Bar kAtLeast105{.side = Bar::Side::kAtLeast, .ratio = 1.05};

// Makes an estimate from 16 restarts that scatter so that the margin is about `margin`.
RatioEstimate about(double ratio, double margin) {
  constexpr double kHalfOfSpread1 = 0.5503;  // t(0.975, 15) sqrt(16 / 15) / 4
  std::vector<double> logs;
  for (const int sign : {-1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1}) {
    logs.push_back(std::log(ratio) + sign * margin / kHalfOfSpread1);
  }
  return RatioEstimate(logs);
}

RatioVerdict bar_of(const RatioEstimate& ratio, const Bar& bar) {
  return judge_bar(ratio, bar, ratio.p(bar.ratio), false);
}

RatioVerdict pair_of(const RatioEstimate& ratio) { return judge_pair(ratio, ratio.p(1), false); }

TEST(RatioJudge, a_bar_is_met_if_the_whole_interval_is_on_its_side) {
  EXPECT_EQ(bar_of(about(1.0, 0.03), kAtMost105), RatioVerdict::kMet);
  EXPECT_EQ(bar_of(about(1.0, 0.03), kAtLeast105), RatioVerdict::kNotMet);
  EXPECT_EQ(bar_of(about(1.1, 0.03), kAtMost105), RatioVerdict::kNotMet);
  EXPECT_EQ(bar_of(about(1.1, 0.03), kAtLeast105), RatioVerdict::kMet);
}

TEST(RatioJudge, a_narrow_interval_around_the_bar_is_at_the_bar) {
  EXPECT_EQ(bar_of(about(1.04, 0.019), kAtMost105), RatioVerdict::kAtTheBar);
  EXPECT_EQ(bar_of(about(1.06, 0.019), kAtMost105), RatioVerdict::kAtTheBar);
  EXPECT_EQ(bar_of(about(1.04, 0.021), kAtMost105), RatioVerdict::kCannotTell);
  EXPECT_EQ(bar_of(about(1.02, 0.019), kAtMost105), RatioVerdict::kMet);
  // The interval just does not contain the bar. But after Holm's adjustment for many claims, p is too large for a
  // verdict.
  EXPECT_EQ(judge_bar(about(1.033, 0.015), kAtMost105, 0.08, false), RatioVerdict::kAtTheBar);
  EXPECT_EQ(judge_bar(about(1.02, 0.015), kAtMost105, 0.08, false), RatioVerdict::kCannotTell);
}

TEST(RatioJudge, beside_many_claims_the_interval_alone_does_not_decide) {
  const RatioEstimate ratio = about(1.0, 0.04);
  EXPECT_EQ(judge_bar(ratio, kAtMost105, 0.05, false), RatioVerdict::kMet);
  EXPECT_EQ(judge_bar(ratio, kAtMost105, 0.0501, false), RatioVerdict::kCannotTell);
  EXPECT_EQ(judge_bar(ratio, kAtMost105, std::nan(""), false), RatioVerdict::kCannotTell);
  EXPECT_EQ(why_not_told(ratio, kAtMost105, 0.08, false), "p is 0.08");
}

TEST(RatioJudge, a_pair_that_differs_by_less_than_one_percent_is_not_different) {
  EXPECT_EQ(pair_of(about(0.95, 0.02)), RatioVerdict::kLess);
  EXPECT_EQ(pair_of(about(1.05, 0.02)), RatioVerdict::kMore);
  EXPECT_EQ(pair_of(about(0.985, 0.003)), RatioVerdict::kLess) << "less comes before level";
  EXPECT_EQ(pair_of(about(1.009, 0.003)), RatioVerdict::kLevel);
  EXPECT_EQ(pair_of(about(1.05, 0.045)), RatioVerdict::kCannotTell) << "p is above 0.01";
}

TEST(RatioJudge, a_pair_is_level_if_the_whole_interval_is_near_one) {
  EXPECT_EQ(pair_of(about(1.0, 0.019)), RatioVerdict::kLevel);
  EXPECT_EQ(pair_of(about(1.005, 0.012)), RatioVerdict::kLevel);
  EXPECT_EQ(pair_of(about(1.005, 0.019)), RatioVerdict::kCannotTell);
  EXPECT_EQ(pair_of(about(1.0, 0.021)), RatioVerdict::kCannotTell);
}

TEST(RatioJudge, a_duel_whose_twin_differs_claims_nothing) {
  const RatioEstimate clear = about(1.5, 0.01);
  EXPECT_TRUE(differs_from_itself(about(1.03, 0.01)));
  EXPECT_TRUE(differs_from_itself(about(0.97, 0.01)));
  EXPECT_FALSE(differs_from_itself(about(1.03, 0.04)));
  EXPECT_FALSE(differs_from_itself(about(1.009, 0.003)));
  EXPECT_EQ(judge_pair(clear, 0, true), RatioVerdict::kCannotTell);
  EXPECT_EQ(judge_bar(clear, kAtMost105, 0, true), RatioVerdict::kCannotTell);
  EXPECT_EQ(judge_bar(about(1.05, 0.01), kAtMost105, 1, true), RatioVerdict::kCannotTell);
  EXPECT_EQ(why_not_told(clear, 0, true), "the same program differs from itself");
  EXPECT_EQ(why_not_told(clear, kAtMost105, 0, true), "the same program differs from itself");
}

TEST(RatioJudge, too_few_restarts_give_no_verdict) {
  const RatioEstimate few(std::vector{0.5, 0.5, 0.5});
  EXPECT_FALSE(differs_from_itself(few));
  EXPECT_EQ(pair_of(few), RatioVerdict::kCannotTell);
  EXPECT_EQ(bar_of(few, kAtMost105), RatioVerdict::kCannotTell);
  EXPECT_EQ(why_not_told(few, kAtMost105, 1, false), "too few restarts");
  EXPECT_EQ(why_not_told(few, 1, false), "too few restarts");
}

TEST(RatioJudge, values_without_scatter_give_a_verdict) {
  const std::vector<double> equal(6, std::log(1.05));
  EXPECT_EQ(bar_of(RatioEstimate(equal), kAtMost105), RatioVerdict::kAtTheBar);
  EXPECT_EQ(bar_of(RatioEstimate(equal), {.ratio = 1.06}), RatioVerdict::kMet);
  EXPECT_EQ(pair_of(RatioEstimate(equal)), RatioVerdict::kMore);
  EXPECT_EQ(pair_of(RatioEstimate(std::vector(6, 0.0))), RatioVerdict::kLevel);
}

TEST(RatioJudge, the_reason_why_nothing_can_be_told) {
  EXPECT_EQ(why_not_told(about(1.04, 0.04), kAtMost105, 0.5, false), "the interval holds 1.05");
  EXPECT_EQ(why_not_told(about(1.04, 0.01), kAtMost105, 0.5, false), "") << "it is at the bar";
  EXPECT_EQ(why_not_told(about(1.01, 0.04), 0.5, false), "the interval holds 1");
  EXPECT_EQ(why_not_told(about(1.05, 0.04), 0.0234, false), "p is 0.0234");
  EXPECT_EQ(why_not_told(about(1.0099, 0.0097), 0.02, false), "");
  EXPECT_EQ(why_not_told(about(1.0095, 0.0093), 0.02, false), "");
  EXPECT_EQ(why_not_told(about(1.5, 0.01), 0, false), "");
}

TEST(RatioJudge, a_bar_that_is_no_ratio_gives_no_verdict) {
  EXPECT_EQ(bar_of(about(1.0, 0.03), {.ratio = 0}), RatioVerdict::kCannotTell);
  EXPECT_EQ(bar_of(about(1.0, 0.03), {.ratio = std::nan("")}), RatioVerdict::kCannotTell);
}

TEST(RatioJudge, the_words_of_the_verdicts) {
  EXPECT_EQ(to_string(RatioVerdict::kMet), "met");
  EXPECT_EQ(to_string(RatioVerdict::kNotMet), "not met");
  EXPECT_EQ(to_string(RatioVerdict::kAtTheBar), "at the bar");
  EXPECT_EQ(to_string(RatioVerdict::kCannotTell), "cannot tell");
  EXPECT_EQ(to_string(RatioVerdict::kLess), "less");
  EXPECT_EQ(to_string(RatioVerdict::kMore), "more");
  EXPECT_EQ(to_string(RatioVerdict::kLevel), "level");
  EXPECT_EQ(to_string(RatioVerdict::kCannotTell), "cannot tell");
}

TEST(RatioJudge, a_pair_at_the_margin_differs_and_its_mirror_too) {
  const auto still = [](double ratio) { return RatioEstimate(std::vector(6, std::log(ratio))); };
  EXPECT_EQ(pair_of(still(1.01)), RatioVerdict::kMore);
  EXPECT_EQ(pair_of(still(1 / 1.01)), RatioVerdict::kLess);
  EXPECT_EQ(pair_of(still(1.0099)), RatioVerdict::kLevel);
  EXPECT_EQ(pair_of(still(1 / 1.0099)), RatioVerdict::kLevel);
  EXPECT_EQ(pair_of(still(1 - 0.01)), RatioVerdict::kLess) << "0.99 is farther from 1 than 1 / 1.01";
  EXPECT_EQ(pair_of(still(1 / 1.02)), RatioVerdict::kLess);
  EXPECT_EQ(judge_pair(still(1 / 1.02), 0.02, false), RatioVerdict::kCannotTell) << "level ends before a factor 1.02";
  EXPECT_EQ(judge_pair(still(1.02), 0.02, false), RatioVerdict::kCannotTell);
}

// Earlier, the lab and the duel judged pairs by different rules. The lab judged this pair "less", and the duel judged
// it "level". Now both use the same judge. Expected: the pair is "less".
TEST(RatioJudge, a_pair_that_two_judges_judged_differently) {
  EXPECT_EQ(judge_pair(about(0.99005, 0.003), 1e-4, false), RatioVerdict::kLess);
  EXPECT_EQ(judge_pair(about(1 / 0.99005, 0.003), 1e-4, false), RatioVerdict::kMore);
}

TEST(RatioJudge, p_at_its_threshold_decides) {
  const RatioEstimate clear = about(1.05, 0.02);
  EXPECT_EQ(judge_pair(clear, 0.01, false), RatioVerdict::kMore);
  EXPECT_EQ(judge_pair(clear, std::nextafter(0.01, 1.0), false), RatioVerdict::kCannotTell);
  EXPECT_EQ(judge_bar(about(1.0, 0.04), kAtMost105, std::nextafter(0.05, 1.0), false), RatioVerdict::kCannotTell);
}

TEST(RatioJudge, a_against_b_mirrors_b_against_a) {
  const auto mirrored = [](RatioVerdict verdict) {
    return verdict == RatioVerdict::kLess   ? RatioVerdict::kMore
           : verdict == RatioVerdict::kMore ? RatioVerdict::kLess
                                            : verdict;
  };
  for (double ratio = 0.9; ratio < 1.1; ratio += 0.0005) {
    for (const double margin : {0.0, 0.003, 0.01, 0.019, 0.02, 0.05}) {
      EXPECT_EQ(pair_of(about(1 / ratio, margin)), mirrored(pair_of(about(ratio, margin)))) << ratio << ' ' << margin;
      EXPECT_EQ(bar_of(about(1 / ratio, margin), {Bar::Side::kAtLeast, 1 / 1.05}),
                bar_of(about(ratio, margin), kAtMost105))
          << ratio << ' ' << margin;
    }
  }
}

TEST(RatioJudge, an_interval_is_within_a_range_outside_or_at_its_bound) {
  const Range tenth{1 / 1.1, 1.1};
  EXPECT_EQ(judge_range(about(1.0, 0.05), tenth, false), RatioVerdict::kWithin);
  EXPECT_EQ(judge_range(about(1.2, 0.05), tenth, false), RatioVerdict::kOutside);
  EXPECT_EQ(judge_range(about(0.8, 0.05), tenth, false), RatioVerdict::kOutside);
  EXPECT_EQ(judge_range(about(1.1, 0.05), tenth, false), RatioVerdict::kAtTheBound);
  EXPECT_EQ(judge_range(about(1e6, 0.05), {.least = 2}, false), RatioVerdict::kWithin);
  EXPECT_EQ(judge_range(about(1.0, 0.05), tenth, true), RatioVerdict::kCannotTell);
  EXPECT_EQ(judge_range(RatioEstimate(std::vector(3, 0.0)), tenth, false), RatioVerdict::kCannotTell);
}

TEST(RatioJudge, each_family_is_adjusted_by_itself_and_a_range_has_none) {
  const RatioEstimate strong = about(1.1, 0.03);
  const RatioEstimate weak = about(1.1, 0.06);
  const std::vector<RatioQuestion> questions{{.estimate = weak, .family = "a"},
                                             {.estimate = strong, .family = "a"},
                                             {.estimate = weak, .asked = kAtMost105, .family = "a"},
                                             {.estimate = weak, .family = "b"},
                                             {.estimate = weak, .asked = Range{}, .family = "a"}};
  const std::vector<RatioAnswer> answers = judge_ratios(questions);
  EXPECT_DOUBLE_EQ(answers[1].adjusted_p, 3 * strong.p(1));
  EXPECT_DOUBLE_EQ(answers[0].adjusted_p, 2 * weak.p(1));
  EXPECT_DOUBLE_EQ(answers[2].p, weak.p(1.05));
  EXPECT_DOUBLE_EQ(answers[2].adjusted_p, weak.p(1.05)) << "it is the last in Holm's order";
  EXPECT_DOUBLE_EQ(answers[3].adjusted_p, weak.p(1));
  EXPECT_EQ(answers[4].verdict, RatioVerdict::kWithin);
  EXPECT_TRUE(judge_ratios({}).empty());
}

TEST(RatioJudge, a_twin_that_differs_and_an_obstacle_forbid_a_verdict) {
  const RatioEstimate clear = about(1.5, 0.01);
  std::vector<RatioQuestion> questions{{.estimate = about(1.03, 0.01), .family = "twin"},
                                       {.estimate = clear, .twin = 0},
                                       {.estimate = clear, .asked = kAtMost105, .obstacle = "it lost bytes"}};
  EXPECT_EQ(judge_ratios(questions)[1].why, "the same program differs from itself");
  EXPECT_EQ(judge_ratios(questions)[2].why, "it lost bytes");
  EXPECT_EQ(judge_ratios(questions)[2].verdict, RatioVerdict::kCannotTell);
  questions[0].estimate = about(1.0, 0.01);
  EXPECT_EQ(judge_ratios(questions)[1].verdict, RatioVerdict::kMore);
  for (const RatioEstimate& unknown : {RatioEstimate({}), RatioEstimate(std::vector<double>{0, 0, 0})}) {
    questions[0].estimate = unknown;
    EXPECT_EQ(judge_ratios(questions)[1].verdict, RatioVerdict::kCannotTell);
    EXPECT_EQ(judge_ratios(questions)[1].why, "too few restarts of the same program against itself");
  }
}

TEST(RatioJudge, a_limited_rate_forbids_the_verdicts_that_it_could_change) {
  const auto told = [](double ratio, std::variant<std::monostate, Bar, Range> asked, bool subject) {
    const RatioQuestion question{.subject = "new",
                                 .rival = "old",
                                 .estimate = about(ratio, 0.01),
                                 .asked = asked,
                                 .subject_bounded = subject,
                                 .rival_bounded = !subject};
    return judge_ratios(std::span(&question, 1)).front();
  };
  EXPECT_EQ(told(1.5, {}, true).verdict, RatioVerdict::kMore) << "its true rate is even higher";
  EXPECT_EQ(told(1.5, {}, false).why, "the generator was full before old was");
  EXPECT_EQ(told(0.5, {}, true).why, "the generator was full before new was");
  EXPECT_EQ(told(0.5, {}, false).verdict, RatioVerdict::kLess);
  EXPECT_EQ(told(1.0, {}, true).verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(told(1.5, kAtLeast105, true).verdict, RatioVerdict::kMet);
  EXPECT_EQ(told(1.5, kAtMost105, true).verdict, RatioVerdict::kNotMet);
  EXPECT_EQ(told(1.0, kAtMost105, true).verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(told(1.05, kAtMost105, false).verdict, RatioVerdict::kCannotTell) << "at the bar";
  EXPECT_EQ(told(1.5, Range{.least = 1.2}, true).verdict, RatioVerdict::kWithin);
  EXPECT_EQ(told(1.5, Range{.least = 1.2}, false).verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(told(1.5, Range{.most = 1.2}, true).verdict, RatioVerdict::kOutside);
  EXPECT_EQ(told(1.0, Range{.least = 1.2}, true).verdict, RatioVerdict::kCannotTell);
}

TEST(RatioJudge, a_sentence_names_the_two_and_their_interval) {
  const RatioQuestion question{.subject = "new", .rival = "old", .estimate = RatioEstimate(std::vector(4, 0.0))};
  EXPECT_EQ(sentence_of(question, judge_ratios(std::span(&question, 1))[0]),
            "new / old: 1.000 (1.000 to 1.000) over 4 restarts, p 1: level");
  const RatioQuestion none{.subject = "new", .rival = "old", .estimate = RatioEstimate({}), .asked = Range{}};
  EXPECT_EQ(sentence_of(none, judge_ratios(std::span(&none, 1))[0]),
            "new / old: - over 0 restarts: cannot tell: too few restarts");
}

}  // namespace
}  // namespace peal::load
