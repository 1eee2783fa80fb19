// SPDX-License-Identifier: BSD-3-Clause
// A gate is a condition of a fair duel; the report names each gate that failed. Each test breaks one condition. It
// checks the sentence of the gate, and which verdicts are then not given.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/duel_judge.h>
#include <load/duel/made_up_duel.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> gates_of(const DuelJudgement& judgement) {
  std::vector<std::string> all;
  for (const DuelGate& gate : judgement.gates) all.push_back((gate.invalid ? "INVALID " : "NOISY ") + gate.sentence);
  return all;
}

const DuelPair& pair_of_gated(const DuelJudgement& judgement, DuelMetric metric, size_t subject) {
  const auto is_it = [&](const DuelPair& pair) { return pair.metric == metric && pair.subject == subject; };
  return *std::ranges::find_if(judgement.pairs, is_it);
}

TEST(DuelGates, a_server_that_ignores_sigchld_has_no_cpu_time_with_a_connection_per_request) {
  MadeUpDuel duel(2);
  duel.claim("b/a <= 2");
  duel.record().sides[1].forgets_children = true;
  EXPECT_THAT(judge_duel(duel.play({1, 1.2})).gates, IsEmpty())
      << "with endless connections no child ends during the duel";
  duel.options().load.requests_per_connection = {1, 1};
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.2}));
  EXPECT_THAT(gates_of(judgement),
              ElementsAre("NOISY b: it ignores SIGCHLD, so the CPU time of its ended children is missing"));
  EXPECT_TRUE(judgement.figures[0].server_cpu_ns);
  EXPECT_FALSE(judgement.figures[1].server_cpu_ns || judgement.figures[1].server_share);
  EXPECT_EQ(pair_of_gated(judgement, DuelMetric::kServerCpu, 1).why, "too few restarts");
  EXPECT_EQ(judgement.claims[0].verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(pair_of_gated(judgement, DuelMetric::kRate, 1).verdict, RatioVerdict::kLess);
}

TEST(DuelGates, failures_and_latencies_beyond_the_range_are_invalid) {
  MadeUpDuel duel(2);
  duel.record().sides[0].failures.add("reset", "a connection broke", 3);
  duel.record().sides[1].latency.record(kLatencyRange.highest * 2);
  duel.record().interrupted = true;
  EXPECT_THAT(
      gates_of(judge_duel(duel.play({}))),
      ElementsAre("INVALID a: 3 unexpected failures (reset): a connection broke",
                  "INVALID b: 1 latencies lay outside the histogram's range", "NOISY the duel was interrupted"));
}

TEST(DuelGates, disturbances_of_the_servers_machine_are_named) {
  MadeUpDuel duel(2);
  ServerHost host{.name = "box2", .address = "10.0.0.2", .kernel = {}, .processor = {}, .cpus = 4};
  host.elapsed = std::chrono::seconds(10);
  host.stolen = std::chrono::milliseconds(400);
  host.foreign = std::chrono::seconds(1);
  duel.record().server_host = host;
  EXPECT_THAT(gates_of(judge_duel(duel.play({}))), IsEmpty()) << "the values are exactly at the limits";
  duel.record().server_host->stolen *= 2;
  duel.record().server_host->foreign *= 3;
  EXPECT_THAT(gates_of(judge_duel(duel.play({}))),
              ElementsAre("NOISY box2: the hypervisor took 2.0 % of its CPU time away",
                          "NOISY box2: other programs used 30 % of one of its cores"));
  duel.record().server_host->is_here = true;
  EXPECT_THAT(gates_of(judge_duel(duel.play({}))), IsEmpty()) << "the generator's CPU use there is expected";
}

TEST(DuelGates, too_little_cpu_per_message_means_a_wrong_process) {
  MadeUpDuel duel(2);
  const DuelRecord& record = duel.play({}, [](SliceRecord& slice) {
    if (slice.contender == 1) slice.server_cpu = Duration::zero();
    return true;
  });
  EXPECT_THAT(gates_of(judge_duel(record)),
              ElementsAre("INVALID b: 0 ns of CPU a message is too little: the measured process is not the server"));
}

TEST(DuelGates, nothing_is_claimed_about_invalid_figures) {
  MadeUpDuel duel(3);
  duel.claim("b/a <= 2");
  duel.claim("c/a <= 2");
  duel.record().sides[1].failures.add("reset", "a connection broke");
  const DuelJudgement judgement = judge_duel(duel.play({1, 1.2, 1.2}));
  const std::string why = "b: 1 unexpected failures (reset): a connection broke";
  EXPECT_EQ(pair_of_gated(judgement, DuelMetric::kServerCpu, 1).why, why);
  EXPECT_EQ(pair_of_gated(judgement, DuelMetric::kServerCpu, 2).verdict, RatioVerdict::kMore);
  EXPECT_EQ(judgement.claims[0].why, why);
  EXPECT_EQ(judgement.claims[1].verdict, RatioVerdict::kMet);
}

TEST(DuelGates, a_rate_that_is_not_held) {
  MadeUpDuel duel(3);
  duel.options().slice = 500ms;
  const MadeUpDuel::Change late = [](SliceRecord& slice) {
    slice.span = slice.contender % 3 == 0 ? 510ms : 600ms;        // a and its twin keep up with the rate
    slice.p50_ns = slice.contender == 2 ? 100'000'000 : 100'000;  // c's median latency is 100 ms
    return true;
  };
  EXPECT_THAT(judge_duel(duel.play({}, late)).gates, IsEmpty()) << "a closed loop has no rate to hold";
  duel.options().load.arrivals = ArrivalPlan::constant(1000);
  EXPECT_THAT(gates_of(judge_duel(duel.play({}, late))),
              ElementsAre("INVALID b: it does not hold the rate: the messages of a slice took 1.20 times its length"));
}

TEST(DuelGates, a_server_that_falls_behind_steadily_does_not_hold_the_rate) {
  MadeUpDuel duel(2);
  duel.options().slice = 500ms;
  duel.options().load.arrivals = ArrivalPlan::constant(1000);
  const DuelRecord& record = duel.play({}, [](SliceRecord& slice) {
    slice.span = slice.contender == 1 ? 980ms : 500ms;
    slice.p50_ns = slice.contender == 1 ? 240'000'000 : 100'000;  // half of b's delay at the end of the slice
    return true;
  });
  EXPECT_THAT(gates_of(judge_duel(record)),
              ElementsAre("INVALID b: it does not hold the rate: the messages of a slice took 1.96 times its length"));
}

TEST(DuelGates, work_deferred_beyond_the_restart_forbids_a_verdict) {
  MadeUpDuel duel(3);
  for (DuelSideRecord& side : duel.record().sides) side.charged_cpu = 160ms;
  duel.record().sides[1].late_cpu = 150ms;
  duel.record().sides[2].late_cpu = 7ms;
  const DuelJudgement judgement = judge_duel(duel.play({1, 0.5, 0.5}));
  EXPECT_THAT(
      gates_of(judgement),
      ElementsAre("INVALID b: it used 150 ms of CPU after the first restart, when every message was answered, "
                  "and its slices were charged 160 ms: work deferred for so long is not counted; raise --rounds"));
  EXPECT_EQ(judgement.pairs[0].verdict, RatioVerdict::kCannotTell);
  EXPECT_EQ(judgement.pairs[1].verdict, RatioVerdict::kLess);
}

TEST(DuelGates, a_server_that_uses_cpu_while_idle_is_named) {
  MadeUpDuel duel(2);
  duel.record().sides[0].idle_cpu = 10ms;
  duel.record().sides[1].idle_cpu = 95ms;
  for (DuelSideRecord& side : duel.record().sides) side.idle_time = 100ms;
  EXPECT_THAT(gates_of(judge_duel(duel.play({}))),
              ElementsAre("NOISY b: it uses 95 % of a core while no message is in flight: this counts as its cost, and "
                          "took CPU time from the others"));
}

}  // namespace
}  // namespace peal::load
