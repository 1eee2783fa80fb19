// SPDX-License-Identifier: BSD-3-Clause
#include <load/report/report_text.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/record/sample_record.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ReportText, times_have_three_digits_and_a_unit) {
  EXPECT_EQ(human_time(0), "0 ns");
  EXPECT_EQ(human_time(850), "850 ns");
  EXPECT_EQ(human_time(999.7), "1.00 us");
  EXPECT_EQ(human_time(1234), "1.23 us");
  EXPECT_EQ(human_time(56'780), "56.8 us");
  EXPECT_EQ(human_time(999'900), "1.00 ms");
  EXPECT_EQ(human_time(123'456'789), "123 ms");
  EXPECT_EQ(human_time(12.5e9), "12.5 s");
}

TEST(ReportText, counts_are_grouped) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(1234567), "1,234,567");
}

TEST(ReportText, a_percentile_is_known_with_ten_samples_above_it) {
  Histogram times(kLatencyRange);
  times.record_n(1000, 999);
  EXPECT_FALSE(is_known(times, 99));
  times.record(1000);
  EXPECT_TRUE(is_known(times, 99));
  EXPECT_FALSE(is_known(times, 99.9));
  times.record_n(1000, 99'000);
  EXPECT_TRUE(is_known(times, 99.99));
}

TEST(ReportText, the_report_shows_what_was_asked_and_got) {
  RunRecord record = sample_record({.open_loop = true, .first_byte = true, .with_server = true});
  record.outcome.total.counts.messages = 40'000;
  record.outcome.total.counts.shed = 2;
  record.outcome.total.latency.record_n(60'000, 39'900);
  record.outcome.total.service->record_n(50'000, 40'000);
  record.outcome.lifetime.retired = 9;
  record.outcome.lifetime.idle_closes = 5;
  const std::string text = report_text(record);
  EXPECT_THAT(text, HasSubstr("pingpong 127.0.0.1:9981: 64 bytes, 1 thread, constant 50/s, engine epoll\n"));
  EXPECT_THAT(text, HasSubstr("3 asked, 2 open, 2 served; 3 attempts, 2 opened, 1 failed, 9 retired\n"));
  EXPECT_THAT(text,
              HasSubstr("the server closed 5 connections on which nothing was asked: opened again, no failure\n"));
  EXPECT_THAT(text, HasSubstr("40,000 in 2.000 s: 20,000/s, 0.00 MiB/s\n"));
  EXPECT_THAT(text, HasSubstr("50/s offered; 2 shed; at the end 3 due but unsent, 4 sent but unanswered\n"));
  EXPECT_THAT(text, HasSubstr("\nlatency         60.0 us    60.0 us    60.0 us    60.0 us    60.0 us  (60.0 us)"));
  EXPECT_THAT(text, HasSubstr("\nservice         50.0 us"));
  EXPECT_THAT(text, HasSubstr("\nfirst byte       900 ns"));
  EXPECT_THAT(text, HasSubstr("\nsend lag      (2.00 us)"));
  EXPECT_THAT(text, HasSubstr("\nconnect       (30.0 us)"));
  EXPECT_THAT(text, HasSubstr("client      150 ns CPU a message, 0 % of a core (and 4.00 ms of spinning"));
  EXPECT_THAT(text, HasSubstr("server      500 ns CPU a message, 1 % of a core, 0.0 MiB resident, 0.000175 + 0.0002 "
                              "context switches a message, 2 processes\n"));
  EXPECT_THAT(text, HasSubstr("failed      1 reset (0.83 % of the messages): a connection broke\n"));
  EXPECT_THAT(text, HasSubstr("INVALID     2 of 3 connections opened.\n"));
}

TEST(ReportText, the_report_says_if_ended_children_are_not_counted) {
  RunRecord record = sample_record({.with_server = true});
  EXPECT_THAT(report_text(record), Not(HasSubstr("SIGCHLD")));
  record.outcome.server->forgets_children = true;
  EXPECT_THAT(report_text(record), HasSubstr("\n            it ignores SIGCHLD: what its ended children used"));
}

TEST(ReportText, with_queueing_the_report_says_how_many_were_served) {
  RunRecord record = sample_record({});
  EXPECT_THAT(report_text(record), Not(HasSubstr("queueing")));
  record.options.expect_queueing = true;
  record.outcome.served = 1;
  record.outcome.queued = {.connections = 2};
  EXPECT_THAT(report_text(record),
              HasSubstr("\nqueueing    served 1 of 3; 2 waited for their turn when the run ended\n"));
  record.outcome.queued.unopened = 1;
  EXPECT_THAT(report_text(record), HasSubstr("2 waited for their turn when the run ended, 1 of them not even open\n"));
  EXPECT_THAT(report_text(record), HasSubstr("3 attempts, 2 opened, 0 failed"));
}

TEST(ReportText, failures_to_connect_are_a_share_of_the_attempts) {
  RunRecord record = sample_record({});
  record.outcome.failures = {};
  record.outcome.failures.add("connect_refused", "nobody listens");
  EXPECT_THAT(report_text(record), HasSubstr("1 connect_refused (33 % of the attempts to connect): nobody listens\n"));
}

TEST(ReportText, handshakes_have_a_line_and_times_of_their_own) {
  RunRecord record = sample_record({.handshakes = true});
  const std::string text = report_text(record);
  EXPECT_THAT(text, HasSubstr("64 bytes, 1 thread, TLS, sessions resumed, closed loop, engine epoll\n"));
  EXPECT_THAT(text, HasSubstr("\nhandshakes  2 done: 1 full, 1 resumed; 1 failed; TLSv1.3, TLS_AES_128_GCM_SHA256\n"));
  EXPECT_THAT(text, HasSubstr("\nconnect       (30.0 us)"));
  EXPECT_THAT(text, HasSubstr("\nhandshake      (700 us)"));
  EXPECT_THAT(report_text(sample_record({})), Not(HasSubstr("handshake")));
  record.outcome.failures = {};
  record.outcome.failures.add("handshake_failed", "the handshake failed: the peer does not speak TLS");
  EXPECT_THAT(report_text(record), HasSubstr("failed      1 handshake_failed (33 % of the attempts to connect): the "
                                             "handshake failed: the peer does not speak TLS\n"));
}

TEST(ReportText, http_answers_are_counted_by_status) {
  RunRecord record = sample_record({});
  EXPECT_THAT(report_text(record), Not(HasSubstr("status"))) << "other protocols have none";
  record.outcome.statuses = {{200, 1500}, {404, 19'184}};
  EXPECT_THAT(report_text(record), HasSubstr("\nstatus      200           1,500       7.3 %\n"
                                             "            404          19,184        93 %\n"));
}

TEST(ReportText, only_a_painted_report_has_colours) {
  const RunRecord record = sample_record({});
  EXPECT_THAT(report_text(record, Paint(true)), HasSubstr("\n\x1b[31mINVALID     \x1b[0m"));
  EXPECT_THAT(report_text(record, Paint(false)), AllOf(HasSubstr("\nINVALID     "), Not(HasSubstr("\x1b"))));
}

TEST(ReportText, an_empty_run_has_no_percentiles) {
  const LoadOptions options;
  RunRecord record = make_record("echo", "0 bytes", "", options, Outcome(RecordingParts{}));
  record.gates.clear();
  const std::string text = report_text(record);
  EXPECT_THAT(text, HasSubstr("latency     no message came back\n"));
  EXPECT_THAT(text, HasSubstr("gates       all passed\n"));
  EXPECT_THAT(text, Not(HasSubstr("send lag")));
  EXPECT_THAT(text, Not(HasSubstr("server")));
}

TEST(ReportText, what_a_connection_carries_and_what_was_not_judged) {
  RunRecord record = sample_record({});
  record.options.pipeline = 16;
  record.options.requests_per_connection = {10, 100};
  EXPECT_THAT(report_text(record), HasSubstr("1 thread, 16 in flight a connection, 10 to 100 requests a connection"));
  EXPECT_THAT(report_text(record), HasSubstr("not judged  Little's law was not checked: there were errors"));
}

}  // namespace
}  // namespace peal::load
