// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/gates.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LoadOptions ten_connections(double rate = 0) {
  LoadOptions options;
  options.connections = 10;
  options.duration = 1s;
  if (rate > 0) options.arrivals = ArrivalPlan::constant(rate);
  return options;
}

// Returns a run without any fault. On 10 connections, 1000 messages of 64 bytes were answered in 1 s, after 10 ms each.
Outcome good(bool with_rate = false) {
  Outcome outcome(RecordingParts{.open_loop = with_rate});
  outcome.window = 1s;
  outcome.opened = outcome.served = 10;
  outcome.came_back = true;
  outcome.total.counts.messages = 1000;
  outcome.total.cpu = 300ms;
  outcome.total.latency.record_n(10'000'000, 1000);
  outcome.lifetime.bytes_sent = outcome.lifetime.bytes_received = 64'000;
  outcome.server.emplace();
  outcome.server->cpu = 900ms;
  if (with_rate) {
    outcome.offered = 1000;
    outcome.total.service->record_n(9'000'000, 1000);
    outcome.total.send_lag->record_n(10'000, 1000);
  }
  return outcome;
}

std::vector<std::string> names(const std::vector<Gate>& gates) {
  std::vector<std::string> found;
  for (const Gate& gate : gates) found.push_back(fmt::format("{} {}", gate.name, to_string(gate.verdict)));
  return found;
}

std::vector<std::string> skipped(const LoadOptions& options, const Outcome& outcome) {
  std::vector<std::string> found;
  for (const SkippedGate& gate : skipped_gates(options, outcome)) found.push_back(gate.name);
  return found;
}

TEST(Gates, a_good_run_passes) {
  EXPECT_THAT(names(judge(ten_connections(), good())), IsEmpty());
  EXPECT_THAT(names(judge(ten_connections(1000), good(true))), IsEmpty());
}

TEST(Gates, errors_are_named_and_counted) {
  Outcome outcome = good();
  outcome.failures.add("reset", "a connection broke");
  outcome.failures.add("reset", "another did");
  const std::vector<Gate> gates = judge(ten_connections(), outcome);
  ASSERT_THAT(names(gates), ElementsAre("errors INVALID"));
  EXPECT_THAT(gates[0].sentence, HasSubstr("reset 2 (first: a connection broke)"));
  EXPECT_TRUE(is_invalid(gates));
}

TEST(Gates, a_run_that_lost_all_connections_says_when) {
  LoadOptions options = ten_connections();
  options.duration = 5s;
  Outcome outcome = good();
  outcome.failures.add("reset", "a connection broke");
  const std::vector<Gate> gates = judge(options, outcome);
  ASSERT_THAT(names(gates), ElementsAre("errors INVALID", "ended_early INVALID"));
  EXPECT_EQ(gates[1].sentence, "The run ended after 1 of 5 s, because no connection was left.");
  outcome.failures = {};
  EXPECT_THAT(names(judge(options, outcome)), IsEmpty()) << "connections that end as planned may end the run";
}

TEST(Gates, fewer_connections_than_asked) {
  LoadOptions options = ten_connections();
  options.connections = 11;
  EXPECT_THAT(names(judge(options, good())), ElementsAre("connections INVALID"));
}

TEST(Gates, connections_that_waited_for_their_turn_are_no_fault) {
  LoadOptions options = ten_connections();
  options.connections = 12;
  Outcome outcome = good();
  outcome.served = 4;
  outcome.queued = {.connections = 8, .unopened = 2, .bytes_owed = 384};
  outcome.lifetime.bytes_received -= 384;
  outcome.total.latency.reset();
  outcome.total.latency.record_n(4'000'000, 1000);  // by this latency, four messages were in flight, not ten
  EXPECT_THAT(names(judge(options, outcome)), IsEmpty());
  EXPECT_THAT(skipped(options, outcome), ElementsAre("little"));
  outcome.lifetime.bytes_received -= 1;
  EXPECT_THAT(names(judge(options, outcome)), ElementsAre("bytes INVALID"));
  options.connections = 13;
  EXPECT_THAT(names(judge(options, outcome)), ElementsAre("connections INVALID", "bytes INVALID"));
}

TEST(Gates, bytes_that_never_came_back) {
  Outcome outcome = good();
  outcome.lifetime.bytes_received -= 64;
  EXPECT_THAT(names(judge(ten_connections(), outcome)), ElementsAre("bytes INVALID"));
}

TEST(Gates, nothing_came_back) {
  Outcome outcome = good();
  outcome.total.counts.messages = 0;
  outcome.total.latency.reset();
  EXPECT_THAT(names(judge(ten_connections(), outcome)), ElementsAre("nothing INVALID"));
}

TEST(Gates, a_latency_beyond_the_histogram) {
  Outcome outcome = good(true);
  outcome.total.send_lag->record(2 * kLatencyRange.highest);
  EXPECT_THAT(names(judge(ten_connections(1000), outcome)), ElementsAre("clamped INVALID"));
}

TEST(Gates, a_handshake_beyond_the_histogram) {
  Outcome outcome = good();
  outcome.handshakes.emplace().times.record(2 * kLatencyRange.highest);
  EXPECT_THAT(names(judge(ten_connections(), outcome)), ElementsAre("clamped INVALID"));
}

TEST(Gates, the_offered_rate_was_not_achieved) {
  Outcome outcome = good(true);
  outcome.offered = 1011;
  EXPECT_THAT(names(judge(ten_connections(1000), outcome)), IsEmpty())
      << "one message may fall outside at the start or the end";
  outcome.offered = 1012;
  EXPECT_THAT(names(judge(ten_connections(1000), outcome)), ElementsAre("achieved INVALID"));
}

TEST(Gates, shed_messages_need_not_be_achieved) {
  Outcome outcome = good(true);
  outcome.offered = 1500;
  outcome.total.counts.shed = 500;
  EXPECT_THAT(names(judge(ten_connections(1500), outcome)), IsEmpty());
  outcome.total.counts.shed = 400;
  const std::vector<Gate> gates = judge(ten_connections(1500), outcome);
  ASSERT_THAT(names(gates), ElementsAre("achieved INVALID"));
  EXPECT_EQ(gates[0].sentence, "90.9 % of the offered 1500/s was achieved, not counting the 400 that were shed.");
}

TEST(Gates, answers_that_are_not_what_was_asked_for) {
  Outcome outcome = good();
  outcome.lifetime.messages = 1000;
  outcome.lifetime.wrong = 3;
  const std::vector<Gate> gates = judge(ten_connections(), outcome);
  ASSERT_THAT(names(gates), ElementsAre("wrong INVALID"));
  EXPECT_EQ(gates[0].sentence, "3 of 1003 answers were not what was asked for.");
}

TEST(Gates, an_answer_need_not_be_as_long_as_its_request) {
  Outcome outcome = good();
  outcome.echoes = false;
  outcome.lifetime.bytes_received *= 7;
  EXPECT_THAT(names(judge(ten_connections(), outcome)), IsEmpty());
  EXPECT_THAT(skipped(ten_connections(), outcome), ElementsAre("bytes"));
}

TEST(Gates, idle_connections_that_did_not_last) {
  LoadOptions options = ten_connections();
  options.idle_connections = 5;
  Outcome outcome = good();
  outcome.idle_open = 5;
  EXPECT_THAT(names(judge(options, outcome)), IsEmpty());
  outcome.idle_open = 4;
  EXPECT_THAT(names(judge(options, outcome)), ElementsAre("idle_connections INVALID"));
}

TEST(Gates, littles_law_counts_what_a_pipeline_has_in_flight) {
  LoadOptions options = ten_connections();
  options.pipeline = 4;
  EXPECT_THAT(names(judge(options, good())), ElementsAre("little NOISY"));
  Outcome outcome = good();
  outcome.total.latency.reset();
  outcome.total.latency.record_n(40'000'000, 1000);
  EXPECT_THAT(names(judge(options, outcome)), IsEmpty());
}

TEST(Gates, littles_law_is_not_checked_if_connections_come_and_go) {
  LoadOptions options = ten_connections();
  Outcome outcome = good();
  outcome.total.latency.record_n(90'000'000, 1000);
  EXPECT_THAT(skipped(options, outcome), IsEmpty());
  EXPECT_THAT(names(judge(options, outcome)), ElementsAre("little NOISY"));
  options.requests_per_connection = {1, 1};
  EXPECT_THAT(names(judge(options, outcome)), IsEmpty());
  EXPECT_THAT(skipped(options, outcome), ElementsAre("little"));
  EXPECT_THAT(skipped_gates(options, outcome)[0].sentence, HasSubstr("connections are opened again"));
  options.requests_per_connection = {};
  outcome.total.counts.retired = 1;
  EXPECT_THAT(skipped(options, outcome), ElementsAre("little")) << "the server closes them";
}

TEST(Gates, sends_that_leave_late) {
  Outcome outcome = good(true);
  outcome.total.send_lag->record_n(3'000'000, 9);
  EXPECT_THAT(names(judge(ten_connections(1000), outcome)), IsEmpty()) << "0.9 % of the sends";
  outcome.total.send_lag->record_n(3'000'000, 10);
  std::vector<Gate> gates = judge(ten_connections(1000), outcome);
  ASSERT_THAT(names(gates), ElementsAre("send_lag NOISY"));
  EXPECT_FALSE(is_invalid(gates));
  EXPECT_THAT(gates[0].sentence, testing::Not(HasSubstr("because no connection was idle")));
  outcome.total.counts.late_for_want = 15;
  EXPECT_THAT(judge(ten_connections(1000), outcome)[0].sentence, HasSubstr("because no connection was idle"));
}

TEST(Gates, a_generator_that_fills_its_core_while_the_server_idles) {
  Outcome outcome = good();
  outcome.total.cpu = 860ms;
  EXPECT_THAT(names(judge(ten_connections(), outcome)), IsEmpty()) << "the server is busy too";
  outcome.server->cpu = 500ms;
  EXPECT_THAT(names(judge(ten_connections(), outcome)), ElementsAre("generator NOISY"));
  outcome.server.reset();
  EXPECT_THAT(judge(ten_connections(), outcome).at(0).sentence, HasSubstr("without --server-pid"));
}

TEST(Gates, with_a_rate_a_full_generator_is_invalid) {
  Outcome outcome = good(true);
  outcome.total.cpu = 900ms;
  outcome.server->cpu = 500ms;
  EXPECT_THAT(names(judge(ten_connections(1000), outcome)), ElementsAre("generator INVALID"));
}

TEST(Gates, spinning_does_not_count_as_a_full_core) {
  Outcome outcome = good(true);
  outcome.server->cpu = 500ms;
  outcome.total.cpu = 990ms;
  outcome.total.spin = 400ms;
  EXPECT_THAT(names(judge(ten_connections(1000), outcome)), IsEmpty());
}

TEST(Gates, cores_are_counted_per_thread) {
  LoadOptions options = ten_connections();
  options.threads = 2;
  Outcome outcome = good();
  outcome.server->cpu = 500ms;
  outcome.total.cpu = 1600ms;
  EXPECT_THAT(names(judge(options, outcome)), IsEmpty());
  outcome.total.cpu = 1750ms;
  EXPECT_THAT(names(judge(options, outcome)), ElementsAre("generator NOISY"));
}

TEST(Gates, littles_law) {
  Outcome outcome = good();
  outcome.total.latency.reset();
  outcome.total.latency.record_n(9'400'000, 1000);
  EXPECT_THAT(names(judge(ten_connections(), outcome)), ElementsAre("little NOISY"));
  outcome = good(true);
  outcome.total.service->record_n(12'000'000, 2000);
  EXPECT_THAT(names(judge(ten_connections(1000), outcome)), ElementsAre("little NOISY"));
}

TEST(Gates, a_server_that_went_away) {
  Outcome outcome = good();
  outcome.server->cpu.reset();
  EXPECT_THAT(names(judge(ten_connections(), outcome)), ElementsAre("server_cpu INVALID"));
}

TEST(Gates, the_gravest_gate_comes_first) {
  Outcome outcome = good();
  outcome.interrupted = true;
  outcome.total.latency.record_n(90'000'000, 1000);
  outcome.server->cpu.reset();
  EXPECT_THAT(names(judge(ten_connections(), outcome)),
              ElementsAre("server_cpu INVALID", "little NOISY", "interrupted NOISY"));
}

}  // namespace
}  // namespace peal::load
