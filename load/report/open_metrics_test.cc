// SPDX-License-Identifier: BSD-3-Clause
// Tests the text itself. tests/outside/load_outputs_test.py tests that the parsers of other projects accept it.
#include <load/report/open_metrics.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/record/sample_record.h>

namespace peal::load {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLabels = R"(experiment="pingpong",target="127.0.0.1:9981")";

TEST(OpenMetrics, counters_summaries_and_the_end) {
  const std::string text = open_metrics(sample_record({.open_loop = true, .with_server = true}));
  EXPECT_THAT(text, HasSubstr(fmt::format("# TYPE peal_load_messages counter\n# HELP peal_load_messages Messages that "
                                          "came back as they should.\npeal_load_messages_total{{{}}} 100\n",
                                          kLabels)));
  EXPECT_THAT(text, HasSubstr("# TYPE peal_load_received_bytes counter\n# UNIT peal_load_received_bytes bytes\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("peal_load_latency_seconds{{{},quantile=\"0.99\"}} 1.", kLabels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("peal_load_latency_seconds_count{{{}}} 100\n", kLabels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("peal_load_failures_total{{{},kind=\"reset\"}} 1\n", kLabels)));
  EXPECT_THAT(text, HasSubstr("peal_load_server_processes"));
  EXPECT_THAT(text, HasSubstr(",gate=\"errors\",verdict=\"INVALID\"} 1\n"));
  EXPECT_THAT(text, EndsWith("\n# EOF\n"));
}

TEST(OpenMetrics, http_answers_are_counted_by_status) {
  RunRecord record = sample_record({});
  record.outcome.statuses = {{404, 7}};
  EXPECT_THAT(open_metrics(record),
              HasSubstr(fmt::format("peal_load_answers_total{{{},status=\"404\"}} 7\n", kLabels)));
}

TEST(OpenMetrics, handshakes_where_there_is_a_layer) {
  const std::string text = open_metrics(sample_record({.handshakes = true}));
  EXPECT_THAT(text, HasSubstr(fmt::format("peal_load_handshakes_total{{{}}} 2\n", kLabels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("peal_load_resumed_handshakes_total{{{}}} 1\n", kLabels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("peal_load_failed_handshakes_total{{{}}} 1\n", kLabels)));
  EXPECT_THAT(text, HasSubstr(fmt::format("peal_load_handshake_seconds_count{{{}}} 2\n", kLabels)));
}

TEST(OpenMetrics, a_label_with_quotes_stays_one_label) {
  RunRecord record = sample_record({});
  record.options.target_text = "a\"b\\c\nd";
  EXPECT_THAT(open_metrics(record), HasSubstr(R"(target="a\"b\\c\nd"})"));
}

TEST(OpenMetrics, what_was_not_measured_is_not_there) {
  const std::string text = open_metrics(sample_record({}));
  EXPECT_THAT(text, Not(HasSubstr("send_lag")));
  EXPECT_THAT(text, Not(HasSubstr("peal_load_server")));
  EXPECT_THAT(text, Not(HasSubstr("handshake")));
}

}  // namespace
}  // namespace peal::load
