// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/merge_runs.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/record/record_reader.h>
#include <load/record/sample_record.h>
#include <load/report/report_json.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

// Returns a run that differs a little from sample_record() and began later by the time `later`.
RunRecord other_run(const SampleParts& parts, Duration later = Duration::zero()) {
  RunRecord record = sample_record(parts);
  record.outcome.began += std::chrono::duration_cast<std::chrono::system_clock::duration>(later);
  record.outcome.total.cpu += 1ms;
  record.outcome.total.latency.record(7'000'000);
  record.outcome.failures.add("reset", "another broke");
  record.outcome.failures.add("timeout", "too late");
  return record;
}

std::string refusal(RunRecord a, RunRecord b) {
  const std::expected<RunRecord, std::string> sum = merge_runs({{"a.json", std::move(a)}, {"b.json", std::move(b)}});
  return sum ? "no refusal" : sum.error();
}

TEST(MergeRuns, everything_is_added_and_nothing_lost) {
  const SampleParts parts{.open_loop = true, .first_byte = true, .interval_histograms = true};
  RunRecord a = sample_record(parts);
  RunRecord b = other_run(parts);
  a.outcome.statuses = {{200, 3}, {404, 7}};
  b.outcome.statuses = {{200, 4}, {503, 1}};
  const std::expected<RunRecord, std::string> sum = merge_runs({{"a.json", a}, {"b.json", b}});
  ASSERT_TRUE(sum.has_value()) << sum.error();
  const Outcome& outcome = sum->outcome;
  EXPECT_EQ(outcome.statuses, (std::map<int, uint64_t>{{200, 7}, {404, 7}, {503, 1}}));
  EXPECT_EQ(sum->options.connections, 6U);
  EXPECT_EQ(sum->options.threads, 2U);
  EXPECT_EQ(outcome.opened, 4U);
  EXPECT_EQ(outcome.total.counts.messages, 200U);
  EXPECT_EQ(outcome.window, 2s);
  EXPECT_DOUBLE_EQ(outcome.messages_per_s(), 100);
  EXPECT_EQ(outcome.total.cpu, 21ms);
  EXPECT_EQ(outcome.offered, 200);
  EXPECT_EQ(outcome.unsent, 6U);
  Histogram latency = a.outcome.total.latency;
  latency.add(b.outcome.total.latency);
  EXPECT_EQ(outcome.total.latency, latency);
  EXPECT_EQ(outcome.total.first_byte->total_count(), 200U);
  EXPECT_EQ(outcome.failures.kinds.at("reset").count, 3U);
  EXPECT_EQ(outcome.failures.kinds.at("reset").first, "a connection broke");
  EXPECT_EQ(outcome.failures.kinds.at("timeout").count, 1U);
  ASSERT_EQ(outcome.intervals.size(), 2U);
  EXPECT_EQ(outcome.intervals[0].counts.messages, 120U);
  EXPECT_EQ(outcome.intervals[0].p99_ns, 1000);
  EXPECT_THAT(sum->merged, ElementsAre("a.json", "b.json"));
}

TEST(MergeRuns, handshakes_add_up) {
  const SampleParts parts{.handshakes = true};
  RunRecord other = other_run(parts);
  other.outcome.handshakes->agreed = "TLSv1.2, ECDHE-RSA-AES128-GCM-SHA256";
  other.outcome.handshakes->times.record(900'000);
  const auto sum = merge_runs({{"a.json", sample_record(parts)}, {"b.json", other}});
  ASSERT_TRUE(sum.has_value()) << sum.error();
  const Handshakes& handshakes = *sum->outcome.handshakes;
  EXPECT_EQ(handshakes.done(), 5U);
  EXPECT_EQ(handshakes.full(), 3U);
  EXPECT_EQ(handshakes.resumed, 2U);
  EXPECT_EQ(handshakes.failed, 2U);
  EXPECT_EQ(handshakes.agreed, "TLSv1.3, TLS_AES_128_GCM_SHA256 and TLSv1.2, ECDHE-RSA-AES128-GCM-SHA256");
  EXPECT_EQ(refusal(sample_record({}), other_run(parts)),
            "a.json and b.json are not parts of one run: their layers none and TLS, sessions resumed differ");
}

TEST(MergeRuns, a_sum_can_be_written_read_and_added_up_again) {
  const auto sum = merge_runs({{"a.json", sample_record({})}, {"b.json", other_run({})}});
  ASSERT_TRUE(sum.has_value());
  const std::string text = report_json(*sum);
  const auto again = read_record(text);
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(report_json(*again), text);
  const auto three = merge_runs({{"ab.json", *again}, {"c.json", other_run({}, 100ms)}});
  ASSERT_TRUE(three.has_value()) << three.error();
  EXPECT_EQ(three->outcome.total.counts.messages, 300U);
  EXPECT_EQ(three->outcome.window, 2s);
  EXPECT_THAT(three->merged, ElementsAre("a.json", "b.json", "c.json"));
}

TEST(MergeRuns, the_sum_keeps_the_failed_gates_of_each_run) {
  const auto sum = merge_runs({{"a.json", sample_record({})}, {"b.json", other_run({})}});
  ASSERT_TRUE(sum.has_value());
  ASSERT_FALSE(sum->gates.empty());
  EXPECT_EQ(sum->gates[0].sentence, "a.json: 2 of 3 connections opened.");
  EXPECT_TRUE(is_invalid(sum->gates));
  EXPECT_EQ(sum->skipped.size(), 1U) << "the same reason is told once";
}

TEST(MergeRuns, runs_that_hardly_coincide_are_noisy_and_those_that_do_not_are_refused) {
  const auto names = [](const RunRecord& record) {
    std::vector<std::string> found;
    for (const Gate& gate : record.gates) found.push_back(gate.name);
    return found;
  };
  const auto close = merge_runs({{"a.json", sample_record({})}, {"b.json", other_run({}, 150ms)}});
  ASSERT_TRUE(close.has_value());
  EXPECT_THAT(names(*close), testing::Not(testing::Contains("overlap")));
  const auto apart = merge_runs({{"a.json", sample_record({})}, {"b.json", other_run({}, 1500ms)}});
  ASSERT_TRUE(apart.has_value());
  EXPECT_EQ(apart->gates.back().name, "overlap");
  EXPECT_EQ(apart->gates.back().verdict, Verdict::kNoisy);
  EXPECT_THAT(apart->gates.back().sentence, HasSubstr("only 25 % of the time"));
  EXPECT_THAT(refusal(sample_record({}), other_run({}, 2s)), HasSubstr("not measured at the same time"));
}

TEST(MergeRuns, the_series_has_only_intervals_that_all_runs_have) {
  const auto sum = merge_runs({{"a.json", sample_record({})}, {"b.json", other_run({}, 1100ms)}});
  ASSERT_TRUE(sum.has_value());
  ASSERT_EQ(sum->outcome.intervals.size(), 1U);
  EXPECT_EQ(sum->outcome.intervals[0].counts.messages, 100U) << "the first's second and the second's first";
  EXPECT_FALSE(sum->outcome.intervals[0].percentiles_known) << "there were no histograms to add";
}

TEST(MergeRuns, runs_of_different_things_are_refused) {
  RunRecord b = other_run({});
  b.experiment = "echo";
  EXPECT_EQ(refusal(sample_record({}), b),
            "a.json and b.json are not parts of one run: their experiments pingpong and echo differ");
  b = other_run({});
  b.options.target_text = "elsewhere:1";
  EXPECT_THAT(refusal(sample_record({}), b), HasSubstr("targets 127.0.0.1:9981 and elsewhere:1"));
  b = other_run({});
  b.options.size = 128;
  EXPECT_THAT(refusal(sample_record({}), b), HasSubstr("sizes 64 and 128"));
  EXPECT_THAT(refusal(sample_record({}), other_run({.open_loop = true})), HasSubstr("loops closed and open"));
  EXPECT_THAT(refusal(sample_record({}), sample_record({})), HasSubstr("are the same run"));
}

TEST(MergeRuns, a_server_that_two_generators_watched_counts_once) {
  RunRecord b = other_run({.with_server = true});
  b.outcome.server->cpu = 22ms;
  auto sum = merge_runs({{"a.json", sample_record({.with_server = true})}, {"b.json", b}});
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(*sum->outcome.server->cpu, 21ms);
  EXPECT_EQ(sum->outcome.server->processes, 2U);
  EXPECT_FALSE(sum->outcome.server->forgets_children);
  b.options.server_pid = 78;
  b.outcome.server->forgets_children = true;
  sum = merge_runs({{"a.json", sample_record({.with_server = true})}, {"b.json", b}});
  EXPECT_EQ(*sum->outcome.server->cpu, 42ms) << "another process shares the work";
  EXPECT_EQ(sum->outcome.server->processes, 4U);
  EXPECT_TRUE(sum->outcome.server->forgets_children);
}

}  // namespace
}  // namespace peal::load
