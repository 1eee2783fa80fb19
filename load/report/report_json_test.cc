// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/report_json.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <load/record/histogram_codec.h>
#include <load/record/sample_record.h>

namespace peal::load {
namespace {

using nlohmann::json;

json parsed(const RunRecord& record) { return json::parse(report_json(record)); }

TEST(ReportJson, a_closed_loop_run) {
  const json report = parsed(sample_record({}));
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["tool"], "peal load");
  EXPECT_EQ(report["experiment"], "pingpong");
  EXPECT_EQ(report["target"], "127.0.0.1:9981");
  EXPECT_EQ(report["size"], 64);
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["pipeline"], 1);
  EXPECT_TRUE(report["requests_per_connection"].is_null());
  EXPECT_EQ(report["connections"]["asked"], 3);
  EXPECT_EQ(report["connections"]["open"], 2);
  EXPECT_EQ(report["connections"]["failed"], 1);
  EXPECT_EQ(report["connections"]["served"], 2);
  EXPECT_EQ(report["mode"], "closed");
  EXPECT_TRUE(report["arrivals"].is_null());
  EXPECT_EQ(report["offered_rate"], 0);
  EXPECT_EQ(report["began"], 1'700'000'000.5);
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
  EXPECT_TRUE(report["first_byte_ns"].is_null());
  EXPECT_EQ(report["connect_ns"]["count"], 2);
  EXPECT_EQ(report["errors"], (json{{"reset", 1}}));
  EXPECT_EQ(report["first_errors"], (json{{"reset", "a connection broke"}}));
}

TEST(ReportJson, http_answers_are_counted_by_status) {
  RunRecord record = sample_record({});
  EXPECT_FALSE(parsed(record).contains("statuses")) << "other protocols have none";
  record.outcome.statuses = {{200, 3}, {404, 7}};
  EXPECT_EQ(parsed(record)["statuses"], (json{{"200", 3}, {"404", 7}}));
}

TEST(ReportJson, served_and_waiting_connections_are_counted) {
  RunRecord record = sample_record({});
  EXPECT_FALSE(parsed(record).contains("expects_queueing"));
  EXPECT_EQ(parsed(record)["connections"]["queued"], 0);
  record.options.expect_queueing = true;
  record.outcome.served = 1;
  record.outcome.queued = {.connections = 2, .unopened = 1};
  const json report = parsed(record);
  EXPECT_EQ(report["expects_queueing"], true);
  EXPECT_EQ(report["connections"]["served"], 1);
  EXPECT_EQ(report["connections"]["queued"], 2);
  EXPECT_EQ(report["connections"]["queued_unopened"], 1);
  EXPECT_EQ(report["connections"]["failed"], 0);
}

TEST(ReportJson, handshakes_where_there_is_a_layer) {
  EXPECT_FALSE(parsed(sample_record({})).contains("handshakes"));
  const json report = parsed(sample_record({.handshakes = true}));
  EXPECT_EQ(report["layer"], "TLS, sessions resumed");
  EXPECT_EQ(
      report["handshakes"],
      (json{{"done", 2}, {"full", 1}, {"resumed", 1}, {"failed", 1}, {"agreed", "TLSv1.3, TLS_AES_128_GCM_SHA256"}}));
  EXPECT_EQ(report["handshake_ns"]["count"], 2);
  EXPECT_EQ(report["connect_ns"]["count"], 2);
}

TEST(ReportJson, percentiles_and_the_histogram_they_come_from) {
  const RunRecord record = sample_record({});
  const json latency = parsed(record)["latency_ns"];
  const int64_t max = record.outcome.total.latency.max();
  EXPECT_EQ(latency["p50"], 1000);
  EXPECT_EQ(latency["p90"], 1000);
  EXPECT_EQ(latency["p95"], 1000);
  EXPECT_EQ(latency["p99"], 1000);
  EXPECT_EQ(latency["p999"], max);
  EXPECT_EQ(latency["p9999"], max);
  EXPECT_EQ(latency["max"], max);
  EXPECT_EQ(latency["count"], 100);
  EXPECT_EQ(latency["clamped"], 0);
  const Result<Histogram> decoded = decode_histogram(latency["hdr"].get<std::string>());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->total_count(), 100U);
  EXPECT_EQ(decoded->count_at(1000), 99U);
}

TEST(ReportJson, a_run_at_a_rate_with_a_server) {
  const json report = parsed(sample_record({.open_loop = true, .with_server = true}));
  EXPECT_EQ(report["mode"], "rate");
  EXPECT_EQ(report["arrivals"], "constant 50/s");
  EXPECT_EQ(report["offered"], 100);
  EXPECT_EQ(report["offered_rate"], 50);
  EXPECT_EQ(report["send_lag_ns"]["count"], 5);
  EXPECT_EQ(report["service_ns"]["count"], 0);
  EXPECT_EQ(report["censored"], (json{{"unsent", 3}, {"unanswered", 4}}));
  EXPECT_EQ(report["server"], (json{{"cpu_ns", 20'000'000},
                                    {"cpu_ns_per_message", 200'000.0},
                                    {"rss_bytes", 4096},
                                    {"voluntary_switches", 7},
                                    {"involuntary_switches", 8},
                                    {"processes", 2},
                                    {"pid", 77}}));
}

TEST(ReportJson, intervals_as_they_were_and_a_line_of_each) {
  const RunRecord record = sample_record({.interval_histograms = true});
  const json intervals = parsed(record)["intervals"];
  ASSERT_EQ(intervals.size(), 2U);
  EXPECT_EQ(intervals[1]["from_ns"], 1'000'000'000);
  EXPECT_EQ(intervals[1]["to_ns"], 2'000'000'000);
  EXPECT_EQ(intervals[1]["messages"], 40);
  EXPECT_EQ(intervals[1]["messages_per_s"], 40);
  EXPECT_EQ(intervals[1]["p99"], 1000);
  EXPECT_TRUE(decode_histogram(intervals[1]["hdr"].get<std::string>()).has_value());
  const std::string line = interval_line(record.outcome.intervals[1], record.outcome);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  json with_begin = intervals[1];
  with_begin["began"] = 1'700'000'000.5;
  EXPECT_EQ(json::parse(line), with_begin);
}

TEST(ReportJson, gates_are_listed_with_their_sentence) {
  const json report = parsed(sample_record({}));
  ASSERT_GE(report["gates"].size(), 2U);
  EXPECT_EQ(report["gates"][0]["name"], "connections");
  EXPECT_EQ(report["gates"][0]["verdict"], "INVALID");
  EXPECT_NE(report["gates"][1]["sentence"].get<std::string>().find("reset 1"), std::string::npos);
  EXPECT_EQ(report["skipped_gates"][0]["name"], "little");
}

TEST(ReportJson, an_error_text_that_is_not_utf8_does_not_break_the_json) {
  RunRecord record = sample_record({});
  record.outcome.failures.add("odd", "\xff\xfe");
  EXPECT_EQ(parsed(record)["errors"]["odd"], 1);
}

}  // namespace
}  // namespace peal::load
