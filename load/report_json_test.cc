// SPDX-License-Identifier: BSD-3-Clause
#include <load/report_json.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <peal/base/histogram_codec.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using nlohmann::json;

LoadOptions some_options(double rate) {
  LoadOptions options;
  options.target_text = "127.0.0.1:9981";
  options.connections = 3;
  options.rate = rate;
  return options;
}

Outcome some_outcome(bool with_rate) {
  Outcome outcome(with_rate);
  outcome.engine = "epoll";
  outcome.window = 2s;
  outcome.opened = outcome.served = 2;
  outcome.total.counts = {.messages = 100, .reads = 110, .bytes_received = 6400, .bytes_sent = 6464};
  outcome.total.cpu = 10ms;
  outcome.total.spin = 4ms;
  outcome.total.latency.record_n(1000, 99);
  outcome.total.latency.record(50'000);
  outcome.failures.add("reset", "a connection broke");
  outcome.unsent = 3;
  outcome.unanswered = 4;
  return outcome;
}

json parsed(const LoadOptions& options, const Outcome& outcome) {
  return json::parse(report_json("pingpong", options, outcome, judge(options, outcome)));
}

TEST(ReportJson, a_closed_loop_run) {
  const json report = parsed(some_options(0), some_outcome(false));
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["tool"], "peal load");
  EXPECT_EQ(report["experiment"], "pingpong");
  EXPECT_EQ(report["target"], "127.0.0.1:9981");
  EXPECT_EQ(report["size"], 64);
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["connections"], (json{{"asked", 3}, {"open", 2}, {"failed", 1}, {"served", 2}}));
  EXPECT_EQ(report["mode"], "closed");
  EXPECT_EQ(report["offered_rate"], 0);
  EXPECT_EQ(report["seconds"], 2);
  EXPECT_EQ(report["messages"], 100);
  EXPECT_EQ(report["reads"], 110);
  EXPECT_EQ(report["bytes_received"], 6400);
  EXPECT_EQ(report["bytes_sent"], 6464);
  EXPECT_EQ(report["messages_per_s"], 50);
  EXPECT_DOUBLE_EQ(report["mib_per_s"], 3200.0 / 1048576);
  EXPECT_EQ(
      report["client"],
      (json{{"cpu_ns", 10'000'000}, {"cpu_ns_per_message", 60'000.0}, {"spin_ns", 4'000'000}, {"cpu_share", 0.003}}));
  EXPECT_TRUE(report["server"].is_null());
  EXPECT_TRUE(report["service_ns"].is_null());
  EXPECT_TRUE(report["send_lag_ns"].is_null());
  EXPECT_EQ(report["errors"], (json{{"reset", 1}}));
  EXPECT_EQ(report["first_errors"], (json{{"reset", "a connection broke"}}));
}

TEST(ReportJson, percentiles_and_the_histogram_they_come_from) {
  const Outcome outcome = some_outcome(false);
  const json latency = parsed(some_options(0), outcome)["latency_ns"];
  EXPECT_EQ(latency["p50"], 1000);
  EXPECT_EQ(latency["p90"], 1000);
  EXPECT_EQ(latency["p95"], 1000);
  EXPECT_EQ(latency["p99"], 1000);
  EXPECT_EQ(latency["p999"], outcome.total.latency.max());
  EXPECT_EQ(latency["max"], outcome.total.latency.max());
  EXPECT_EQ(latency["count"], 100);
  EXPECT_EQ(latency["clamped"], 0);
  const Result<Histogram> decoded = decode_histogram(latency["hdr"].get<std::string>());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->total_count(), 100U);
  EXPECT_EQ(decoded->count_at(1000), 99U);
}

TEST(ReportJson, a_run_at_a_rate_with_a_server) {
  Outcome outcome = some_outcome(true);
  outcome.total.send_lag->record_n(2000, 5);
  outcome.server = ServerUse{.cpu = 20ms, .rss_bytes = 4096, .voluntary_switches = 7, .involuntary_switches = 8};
  const json report = parsed(some_options(50), outcome);
  EXPECT_EQ(report["mode"], "rate");
  EXPECT_EQ(report["offered_rate"], 50);
  EXPECT_EQ(report["send_lag_ns"]["count"], 5);
  EXPECT_EQ(report["service_ns"]["count"], 0);
  EXPECT_EQ(report["censored"], (json{{"unsent", 3}, {"unanswered", 4}}));
  EXPECT_EQ(report["server"], (json{{"cpu_ns", 20'000'000},
                                    {"cpu_ns_per_message", 200'000.0},
                                    {"rss_bytes", 4096},
                                    {"voluntary_switches", 7},
                                    {"involuntary_switches", 8}}));
}

TEST(ReportJson, gates_are_listed_with_their_sentence) {
  const json gates = parsed(some_options(0), some_outcome(false))["gates"];
  ASSERT_GE(gates.size(), 2U);
  EXPECT_EQ(gates[0]["name"], "errors");
  EXPECT_EQ(gates[0]["verdict"], "INVALID");
  EXPECT_NE(gates[0]["sentence"].get<std::string>().find("reset 1"), std::string::npos);
}

TEST(ReportJson, an_error_in_no_known_encoding_does_not_break_it) {
  Outcome outcome = some_outcome(false);
  outcome.failures.add("odd", "\xff\xfe");
  EXPECT_EQ(parsed(some_options(0), outcome)["errors"]["odd"], 1);
}

}  // namespace
}  // namespace peal::load
