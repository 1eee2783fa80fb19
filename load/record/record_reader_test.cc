// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/record_reader.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <load/record/sample_record.h>
#include <load/report/report_json.h>

namespace peal::load {
namespace {

using testing::HasSubstr;

void expect_unchanged(const RunRecord& record) {
  const std::string text = report_json(record);
  const std::expected<RunRecord, std::string> again = read_record(text);
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(report_json(*again), text);
}

TEST(RecordReader, what_was_written_is_read_as_it_was) {
  expect_unchanged(sample_record({}));
  expect_unchanged(sample_record({.open_loop = true, .first_byte = true, .with_server = true}));
  expect_unchanged(sample_record({.interval_histograms = true}));
  expect_unchanged(sample_record({.handshakes = true}));
  RunRecord odd = sample_record({.with_server = true});
  odd.options.requests_per_connection = {10, 100};
  odd.options.idle_connections = 7;
  odd.options.pipeline = 16;
  odd.outcome.server->cpu.reset();
  odd.outcome.server->forgets_children = true;
  odd.options.expect_queueing = true;
  odd.outcome.queued = {.connections = 2, .unopened = 1};
  odd.outcome.echoes = false;
  odd.outcome.statuses = {{200, 3}, {404, 7}};
  odd.merged = {"a.json", "b.json"};
  odd.outcome.intervals[0].percentiles_known = false;
  expect_unchanged(odd);
}

TEST(RecordReader, what_was_clamped_stays_clamped) {
  RunRecord record = sample_record({});
  record.outcome.total.latency.record_n(kLatencyRange.highest, 2);
  record.outcome.total.latency.record_n(kLatencyRange.highest * 2, 3);
  expect_unchanged(record);
  const std::expected<RunRecord, std::string> again = read_record(report_json(record));
  EXPECT_EQ(again->outcome.total.latency.clamped_count(), 3U);
  EXPECT_EQ(again->outcome.total.latency, record.outcome.total.latency);
}

TEST(RecordReader, other_texts_are_refused_in_a_sentence) {
  EXPECT_EQ(read_record("").error(), "it is not JSON");
  EXPECT_EQ(read_record("{\"schema\":").error(), "it is not JSON");
  EXPECT_EQ(read_record("[]").error(), "it is not a report of peal load");
  EXPECT_EQ(read_record("{}").error(), "it is not a report of peal load");
  EXPECT_EQ(read_record(R"({"tool":"peal load","schema":"1"})").error(), "it is not a report of peal load");
  EXPECT_EQ(read_record(R"({"tool":"peal load","schema":1e300})").error(), "it is not a report of peal load");
  EXPECT_THAT(read_record(R"({"tool":"peal load","schema":1})").error(), HasSubstr("of an older peal load"));
}

TEST(RecordReader, a_record_from_before_connects_under_way_and_idle_closes_were_counted) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(report_json(sample_record({})));
  json.at("lifetime").erase("under_way");
  json.at("lifetime").erase("idle_closes");
  json.at("connections").erase("queued");
  const std::expected<RunRecord, std::string> again = read_record(json.dump());
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(again->outcome.lifetime.under_way, 0U);
}

// Replaces every field of a report by several wrong values. The reader must return an error or a record, and must not
// crash.
TEST(RecordReader, no_wrong_field_makes_the_reader_crash) {
  const nlohmann::json report =
      nlohmann::json::parse(report_json(sample_record({.open_loop = true, .handshakes = true})));
  const nlohmann::json flat = report.flatten();
  size_t refused = 0;
  for (const auto& [path, value] : flat.items()) {
    const nlohmann::json::json_pointer place(path);
    for (const nlohmann::json& other :
         {nlohmann::json("text"), nlohmann::json(-1), nlohmann::json(1e300), nlohmann::json(nullptr),
          nlohmann::json::array(), nlohmann::json(18'446'744'073'709'551'615U)}) {
      nlohmann::json spoilt = report;
      spoilt[place] = other;
      refused += read_record(spoilt.dump()).has_value() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 300U);
}

TEST(RecordReader, a_histogram_of_another_range_is_refused) {
  nlohmann::json report = nlohmann::json::parse(report_json(sample_record({})));
  report["latency_ns"]["clamped"] = 5;
  EXPECT_THAT(read_record(report.dump()).error(), HasSubstr("more times were clamped than were recorded"));
  report["latency_ns"]["hdr"] = "HISTFAAAABl42pNpmSzMwMDAyIAKYHwm+w9QFgA8ewJ6";
  EXPECT_FALSE(read_record(report.dump()).has_value());
}

}  // namespace
}  // namespace peal::load
