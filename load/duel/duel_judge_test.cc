// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/duel_judge.h>

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/made_up_duel.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const DuelPair& pair_named(const DuelJudgement& judgement, DuelMetric metric, size_t subject) {
  for (const std::vector<DuelPair>* pairs : {&judgement.pairs, &judgement.twins}) {
    for (const DuelPair& pair : *pairs) {
      if (pair.metric == metric && pair.subject == subject) return pair;
    }
  }
  ADD_FAILURE() << "no pair of " << subject << " by " << to_string(metric);
  return judgement.pairs.front();
}

// Makes the generator's threads fully busy while this contender plays. The contender's server is not fully busy.
MadeUpDuel::Change full_generator(size_t contender) {
  return [contender](SliceRecord& slice) {
    if (slice.contender == contender) slice.client_cpu = slice.span * 9 / 10;
    return true;
  };
}

// A garbage collector of server b runs in one of four rounds. That round is expensive, and the other rounds are cheap.
// Expected: the value of the restart includes all four rounds.
TEST(DuelJudge, the_value_of_a_restart_covers_all_its_rounds) {
  MadeUpDuel duel(2, 2, 0);
  duel.options().rounds = 4;
  const DuelRecord& record = duel.play({1, 1}, [](SliceRecord& slice) {
    if (slice.contender != 1) return true;
    const bool collects = slice.round == 2;
    *slice.server_cpu = (slice.restart + 1) * (collects ? 34ms : 2ms);
    slice.span = collects ? 80ms : 20ms;
    return true;
  });
  const std::vector<double> logs = restart_logs(record, DuelMetric::kServerCpu, 1, 0);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_NEAR(logs[0], 0, 1e-9);
  EXPECT_NEAR(logs[1], std::log(2), 1e-9);
  EXPECT_NEAR(restart_logs(record, DuelMetric::kRate, 1, 0)[0], std::log(80.0 / 140), 1e-9);
  EXPECT_NEAR(restart_logs(record, DuelMetric::kServerCpu, 0, 1)[1], -logs[1], 1e-9);
}

TEST(DuelJudge, each_metric_takes_its_own_figure) {
  MadeUpDuel duel(2, 1, 0);
  const DuelRecord& record = duel.play({1, 1}, [](SliceRecord& slice) {
    if (slice.contender != 1) return true;
    *slice.server_cpu *= 2;
    slice.span /= 4;
    slice.p50_ns *= 8;
    slice.p99_ns *= 16;
    return true;
  });
  EXPECT_NEAR(restart_logs(record, DuelMetric::kServerCpu, 1, 0)[0], std::log(2), 1e-9);
  EXPECT_NEAR(restart_logs(record, DuelMetric::kRate, 1, 0)[0], std::log(4), 1e-9);
  EXPECT_NEAR(restart_logs(record, DuelMetric::kP50, 1, 0)[0], std::log(8), 1e-9);
  EXPECT_NEAR(restart_logs(record, DuelMetric::kP99, 1, 0)[0], std::log(16), 1e-9);
}

TEST(DuelJudge, a_restart_without_one_of_the_two_is_left_out) {
  MadeUpDuel duel(3, 3, 0);
  const DuelRecord& record =
      duel.play({1, 2, 3}, [](const SliceRecord& slice) { return slice.restart != 1 || slice.contender != 1; });
  const std::vector<double> logs = restart_logs(record, DuelMetric::kServerCpu, 1, 0);
  ASSERT_EQ(logs.size(), 3U);
  EXPECT_NEAR(logs[0], std::log(2), 1e-9);
  EXPECT_TRUE(std::isnan(logs[1]));
  EXPECT_NEAR(logs[2], std::log(2), 1e-9);
}

TEST(DuelJudge, slices_without_messages_time_or_cpu_have_no_value) {
  const std::vector<std::pair<DuelMetric, MadeUpDuel::Change>> empty{
      {DuelMetric::kRate,
       [](SliceRecord& slice) {
         slice.messages = 0;
         return true;
       }},
      {DuelMetric::kRate,
       [](SliceRecord& slice) {
         slice.span = {};
         return true;
       }},
      {DuelMetric::kServerCpu,
       [](SliceRecord& slice) {
         slice.messages = 0;
         return true;
       }},
      {DuelMetric::kServerCpu,
       [](SliceRecord& slice) {
         slice.server_cpu.reset();
         return true;
       }},
      {DuelMetric::kServerCpu,
       [](SliceRecord& slice) {
         slice.server_cpu = Duration::zero();
         return true;
       }},
      {DuelMetric::kP99,
       [](SliceRecord& slice) {
         slice.p99_ns = 0;
         return true;
       }},
  };
  for (const auto& [metric, change] : empty) {
    MadeUpDuel duel(2, 4);
    const DuelRecord& record = duel.play({1, 2}, change);
    EXPECT_THAT(restart_logs(record, metric, 1, 0), testing::Each(testing::IsNan()));
    EXPECT_FALSE(RatioEstimate(restart_logs(record, metric, 1, 0)).known());
  }
}

TEST(DuelJudge, cpu_time_in_a_slice_without_answers_is_a_cost) {
  MadeUpDuel duel(2, 1, 0);
  const DuelRecord& record = duel.play({1, 3}, [](SliceRecord& slice) {
    if (slice.contender == 0 && slice.round == 0) slice.messages = 0;
    return true;
  });
  EXPECT_NEAR(restart_logs(record, DuelMetric::kServerCpu, 1, 0)[0], std::log(3.0 / 2), 1e-9);
}

TEST(DuelJudge, figures_are_medians) {
  MadeUpDuel duel(2, 3, 0);
  duel.options().rounds = 3;
  const DuelRecord& record = duel.play({1, 2}, [](SliceRecord& slice) {
    slice.spin = 3ms;
    if (slice.restart == 1) *slice.server_cpu *= 10;
    return true;
  });
  const DuelJudgement judgement = judge_duel(record);
  ASSERT_EQ(judgement.figures.size(), 3U);
  EXPECT_DOUBLE_EQ(judgement.figures[0].server_cpu_ns.value(), 10'000);
  EXPECT_DOUBLE_EQ(judgement.figures[1].server_cpu_ns.value(), 20'000);
  EXPECT_DOUBLE_EQ(judgement.figures[0].client_cpu_ns, 5'000) << "spinning does not count";
  EXPECT_DOUBLE_EQ(judgement.figures[0].messages_per_s, 50'000);
  EXPECT_DOUBLE_EQ(judgement.figures[1].messages_per_s, 25'000);
  EXPECT_DOUBLE_EQ(judgement.figures[0].client_share, 0.25);
  EXPECT_DOUBLE_EQ(judgement.figures[0].server_share.value(), 0.5);
  EXPECT_FALSE(judgement.figures[0].bounded);
}

TEST(DuelJudge, figures_without_slices) {
  MadeUpDuel duel(2, 1);
  const DuelJudgement judgement = judge_duel(duel.play({}, [](SliceRecord&) { return false; }));
  EXPECT_FALSE(judgement.figures[0].server_cpu_ns);
  EXPECT_EQ(judgement.figures[0].messages_per_s, 0);
  EXPECT_FALSE(judgement.figures[0].server_share);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 1).verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 1).why, "too few restarts");
}

TEST(DuelJudge, more_less_and_level) {
  MadeUpDuel duel(4);
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.2, 0.9, 1.003}));
  EXPECT_EQ(judgement.pairs.size(), 6U) << "three by CPU, three by rate; short slices show no latency";
  EXPECT_EQ(judgement.twins.size(), 2U);
  const DuelPair& dearer = pair_named(judgement, DuelMetric::kServerCpu, 1);
  EXPECT_EQ(dearer.verdict, RatioVerdict::kMore);
  EXPECT_EQ(dearer.why, "");
  EXPECT_NEAR(dearer.estimate.ratio(), 1.2, 1e-3);
  EXPECT_EQ(dearer.logs.size(), 8U);
  EXPECT_FALSE(dearer.of_processes);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 2).verdict, RatioVerdict::kLess);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 3).verdict, RatioVerdict::kLevel);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kRate, 1).verdict, RatioVerdict::kLess);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kRate, 2).verdict, RatioVerdict::kMore);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 4).verdict, RatioVerdict::kLevel) << "the twin";
  EXPECT_THAT(judgement.gates, IsEmpty());
}

TEST(DuelJudge, long_slices_show_latency_and_a_fixed_rate_has_no_rate) {
  MadeUpDuel duel(2);
  duel.options().slice = 500ms;
  const auto metrics = [&duel] {
    std::vector<DuelMetric> seen;
    for (const DuelPair& pair : judge_duel(duel.play({1, 1.2})).pairs) seen.push_back(pair.metric);
    return seen;
  };
  EXPECT_THAT(metrics(), ElementsAre(DuelMetric::kServerCpu, DuelMetric::kRate, DuelMetric::kP50, DuelMetric::kP99));
  duel.options().load.arrivals = ArrivalPlan::constant(1000);
  EXPECT_THAT(metrics(), ElementsAre(DuelMetric::kServerCpu, DuelMetric::kP50, DuelMetric::kP99));
  duel.options().contenders[1].command.clear();
  EXPECT_THAT(metrics(), ElementsAre(DuelMetric::kP50, DuelMetric::kP99))
      << "the pid of one contender is unknown, so no CPU time is compared";
}

TEST(DuelJudge, holm_counts_the_pairs_of_a_metric) {
  // The values scatter so much that Holm's adjustment matters. If the pair is the only one, it is judged different.
  // Among eight similar pairs, it is undecided.
  MadeUpDuel two(2, 8, 0.09);
  const DuelJudgement alone = judge_duel(two.play({1, 1.15}));
  const DuelPair& single = pair_named(alone, DuelMetric::kServerCpu, 1);
  EXPECT_EQ(single.verdict, RatioVerdict::kMore);
  EXPECT_DOUBLE_EQ(single.adjusted_p, single.estimate.p(1));
  MadeUpDuel nine(9, 8, 0.09);
  const DuelJudgement many = judge_duel(nine.play({1, 1.15, 1.15, 1.15, 1.15, 1.15, 1.15, 1.15, 1.15}));
  const DuelPair& one_of_many = pair_named(many, DuelMetric::kServerCpu, 1);
  EXPECT_NEAR(one_of_many.adjusted_p, 8 * one_of_many.estimate.p(1), 1e-12);
  EXPECT_EQ(one_of_many.verdict, RatioVerdict::kCannotTell);
  EXPECT_THAT(one_of_many.why, HasSubstr("p is"));
}

TEST(DuelJudge, a_twin_that_differs_voids_every_verdict_of_its_metric) {
  MadeUpDuel duel(2);
  duel.claim("b/a <= 1.3");
  duel.claim("rate: b/a <= 0.9");
  const DuelRecord& record = duel.play({1, 1.2, 1}, [](SliceRecord& slice) {
    if (slice.contender == 2) *slice.server_cpu = *slice.server_cpu * 11 / 10;
    return true;
  });
  const DuelJudgement judgement = judge_duel(record);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 2).verdict, RatioVerdict::kMore) << "the twin";
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 1).verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 1).why, "the same program differs from itself");
  EXPECT_EQ(judgement.claims[0].verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(judgement.claims[0].why, "the same program differs from itself");
  EXPECT_EQ(pair_named(judgement, DuelMetric::kRate, 1).verdict, RatioVerdict::kLess)
      << "by its rate the twin does not differ";
  EXPECT_EQ(judgement.claims[1].verdict, RatioVerdict::kMet);
}

TEST(DuelJudge, without_a_known_twin_nothing_is_judged) {
  MadeUpDuel duel(2);
  duel.claim("b/a <= 1.3");
  duel.record().sides[2].fault = "a: it ended";
  const DuelJudgement judgement = judge_duel(
      duel.play({1, 1.2}, [](const SliceRecord& slice) { return slice.contender != 2 || slice.restart < 3; }));
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 1).verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 1).why,
            "too few restarts of the same program against itself");
  EXPECT_EQ(judgement.claims[0].verdict, RatioVerdict::kCannotTell);
}

TEST(DuelJudge, a_contender_without_answers_fails_a_gate) {
  MadeUpDuel duel(3);
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.2, 1.2}, [](SliceRecord& slice) {
    if (slice.contender == 1) slice.messages = 0;
    return true;
  }));
  ASSERT_EQ(judgement.gates.size(), 1U);
  EXPECT_TRUE(judgement.gates[0].invalid);
  EXPECT_EQ(judgement.gates[0].sentence, "b: not a single message came back");
  EXPECT_EQ(pair_named(judgement, DuelMetric::kRate, 2).verdict, RatioVerdict::kLess) << "c is still judged";
  duel.options().contenders[1].expect_queueing = true;
  const std::vector<DuelGate> gates = judge_duel(duel.record()).gates;
  ASSERT_EQ(gates.size(), 1U);
  EXPECT_FALSE(gates[0].invalid) << "idle connections may occupy all that b can serve";
  EXPECT_EQ(gates[0].sentence, "b: not a single message came back");
}

TEST(DuelJudge, claims_met_not_met_at_the_bar_and_not_told) {
  MadeUpDuel duel(3);
  for (const char* text : {"b/a <= 1.25", "b/a <= 1.1", "b/a >= 1.1", "b/a <= 1.2", "b/c <= 1.3", "a/b <= 0.9"}) {
    duel.claim(text);
  }
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.2, 1}));
  std::vector<RatioVerdict> verdicts;
  for (const DuelPair& judged : judgement.claims) {
    verdicts.push_back(judged.verdict);
    EXPECT_EQ(judged.why, "");
    EXPECT_FALSE(judged.of_processes);
    EXPECT_EQ(judged.estimate.restarts(), 8U);
  }
  EXPECT_THAT(verdicts, ElementsAre(RatioVerdict::kMet, RatioVerdict::kNotMet, RatioVerdict::kMet,
                                    RatioVerdict::kAtTheBar, RatioVerdict::kMet, RatioVerdict::kMet));
  MadeUpDuel few(2, 3);
  few.claim("b/a <= 2");
  EXPECT_EQ(judge_duel(few.play({1, 1.2})).claims[0].why, "too few restarts");
}

TEST(DuelJudge, claims_are_a_family_of_their_own) {
  MadeUpDuel duel(2, 8, 0.09);
  for (int i = 0; i < 4; ++i) duel.claim("b/a <= 1.3");
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.15}));
  for (const DuelPair& judged : judgement.claims) {
    EXPECT_NEAR(judged.adjusted_p, std::min(1.0, 4 * judged.estimate.p(1.3)), 1e-12);
  }
}

TEST(DuelJudge, a_rate_the_generator_limited_decides_only_what_a_higher_rate_would) {
  const auto verdict = [](double cost, size_t bounded, const std::string& claim = "") {
    MadeUpDuel duel(2);
    if (!claim.empty()) duel.claim(claim);
    const DuelJudgement judgement = judge_duel(duel.play({1, cost}, full_generator(bounded)));
    EXPECT_TRUE(judgement.figures[bounded].bounded);
    EXPECT_EQ(pair_named(judgement, DuelMetric::kServerCpu, 1).why, "") << "the CPU cost is known nevertheless";
    const auto [told, why] =
        claim.empty() ? std::pair(std::string(to_string(judgement.pairs.back().verdict)), judgement.pairs.back().why)
                      : std::pair(std::string(to_string(judgement.claims[0].verdict)), judgement.claims[0].why);
    EXPECT_EQ(told == "cannot tell", !why.empty());
    EXPECT_THAT(why, testing::AnyOf("", std::string("the generator was full before ") + "ab"[bounded] + " was"));
    return told;
  };
  // The measured rate of b is lower. But the generator limited b, so the true rate of b may be higher.
  EXPECT_EQ(verdict(1.2, 1), "cannot tell");
  EXPECT_EQ(verdict(1.2, 0), "less") << "the true rate of a is even higher";
  EXPECT_EQ(verdict(0.8, 0), "cannot tell");
  EXPECT_EQ(verdict(0.8, 1), "more");
  EXPECT_EQ(verdict(1, 0), "cannot tell") << "no longer level";
  EXPECT_EQ(verdict(1, 1), "cannot tell");
  EXPECT_EQ(verdict(0.8, 1, "rate: b/a >= 1"), "met");
  EXPECT_EQ(verdict(0.8, 0, "rate: b/a >= 1"), "cannot tell");
  EXPECT_EQ(verdict(0.8, 0, "rate: b/a <= 1"), "cannot tell")
      << "by the measured rates it is not met, but a may be faster";
  EXPECT_EQ(verdict(0.8, 1, "rate: b/a <= 1"), "not met");
  EXPECT_EQ(verdict(1.25, 1, "rate: b/a >= 1"), "cannot tell");
  EXPECT_EQ(verdict(1.25, 0, "rate: b/a >= 1"), "not met");
  EXPECT_EQ(verdict(1.25, 0, "rate: b/a <= 1"), "met");
  EXPECT_EQ(verdict(1, 0, "rate: b/a <= 1"), "cannot tell") << "no longer at the bar";
  EXPECT_EQ(verdict(1, 1, "rate: b/a >= 1"), "cannot tell");
}

TEST(DuelJudge, a_full_server_is_not_limited_by_the_generator) {
  MadeUpDuel duel(2);
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.2}, [](SliceRecord& slice) {
    slice.client_cpu = slice.span * 9 / 10;
    slice.server_cpu = slice.span * 95 / 100;
    return true;
  }));
  EXPECT_FALSE(judgement.figures[0].bounded);
  EXPECT_EQ(pair_named(judgement, DuelMetric::kRate, 1).verdict, RatioVerdict::kLess);
}

TEST(DuelJudge, servers_that_already_ran_are_judged_as_processes) {
  MadeUpDuel duel(3);
  duel.options().contenders[1].command.clear();
  duel.options().contenders[1].pid = 4711;
  duel.claim("b/a <= 2");
  duel.claim("c/a <= 2");
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.2, 1.3}));
  EXPECT_TRUE(pair_named(judgement, DuelMetric::kServerCpu, 1).of_processes);
  EXPECT_FALSE(pair_named(judgement, DuelMetric::kServerCpu, 2).of_processes);
  EXPECT_FALSE(judgement.twins[0].of_processes);
  EXPECT_TRUE(judgement.claims[0].of_processes);
  EXPECT_FALSE(judgement.claims[1].of_processes);
}

std::vector<std::string> declared(const DuelOptions& options) {
  std::vector<std::string> pairs;
  for (const DeclaredPair& pair : declared_pairs(options)) {
    pairs.push_back(std::string(to_string(pair.metric)) + " " + options.contenders[pair.subject].name + "/" +
                    options.contenders[pair.rival].name);
  }
  return pairs;
}

TEST(DuelJudge, the_declared_pairs_are_the_claims_or_everybody_against_the_first) {
  MadeUpDuel duel(3);
  EXPECT_THAT(declared(duel.options()), ElementsAre("cpu b/a", "cpu c/a"));
  duel.claim("rate: c/b >= 1");
  EXPECT_THAT(declared(duel.options()), ElementsAre("rate c/b"));
  MadeUpDuel alone(1);
  EXPECT_THAT(declared(alone.options()), ElementsAre("cpu a-twin/a")) << "a single contender is compared with its twin";
}

TEST(DuelJudge, restarts_are_wanted_until_the_widest_declared_pair_is_narrow) {
  MadeUpDuel steady(3, 8, 0.001);
  EXPECT_EQ(restarts_wanted(steady.play({1, 1.2, 1.3})), 8U);
  MadeUpDuel restless(3, 8, 0.05);
  const size_t wanted = restarts_wanted(restless.play({1, 1.2, 1.3}));
  EXPECT_GT(wanted, 20U);
  EXPECT_LT(wanted, 80U);
  restless.options().precision = 0.5;
  EXPECT_EQ(restarts_wanted(restless.play({1, 1.2, 1.3})), 8U);
  restless.options().precision = 1e-6;
  EXPECT_EQ(restarts_wanted(restless.play({1, 1.2, 1.3})), kMostRestarts);
}

TEST(DuelJudge, a_pair_without_any_value_wants_the_most_restarts) {
  MadeUpDuel duel(2);
  const DuelRecord& record = duel.play({}, [](SliceRecord& slice) {
    slice.server_cpu.reset();
    return true;
  });
  EXPECT_EQ(restarts_wanted(record), kMostRestarts);
}

}  // namespace
}  // namespace peal::load
