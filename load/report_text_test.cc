// SPDX-License-Identifier: BSD-3-Clause
#include <load/report_text.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
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

TEST(ReportText, the_report_shows_what_was_asked_and_got) {
  LoadOptions options;
  options.target_text = "127.0.0.1:9981";
  options.connections = 1000;
  options.rate = 20000;
  Outcome outcome(true);
  outcome.engine = "epoll";
  outcome.window = 2s;
  outcome.opened = outcome.served = 998;
  outcome.total.counts.messages = 40'000;
  outcome.total.cpu = 200ms;
  outcome.total.spin = 100ms;
  outcome.total.latency.record_n(60'000, 40'000);
  outcome.total.service->record_n(50'000, 40'000);
  outcome.total.send_lag->record_n(10'000, 40'000);
  outcome.unsent = 12;
  outcome.server = ServerUse{.cpu = 80ms, .rss_bytes = 3 << 20, .voluntary_switches = 1500, .involuntary_switches = 2};
  const std::string text = report_text("pingpong", options, outcome, judge(options, outcome));
  EXPECT_THAT(text, HasSubstr("pingpong 127.0.0.1:9981: 64 bytes, 1 thread, fixed rate, engine epoll\n"));
  EXPECT_THAT(text, HasSubstr("1,000 asked, 998 open, 998 served\n"));
  EXPECT_THAT(text, HasSubstr("40,000 in 2.000 s: 20,000/s, 0.00 MiB/s\n"));
  EXPECT_THAT(text, HasSubstr("20,000/s offered; at the end 12 due but unsent, 0 sent but unanswered\n"));
  EXPECT_THAT(text, HasSubstr("latency     p50 60.0 us"));
  EXPECT_THAT(text, HasSubstr("service     p50 50.0 us"));
  EXPECT_THAT(text, HasSubstr("send lag    p50 10.0 us"));
  EXPECT_THAT(text, HasSubstr("client      2.50 us CPU a message, 5 % of a core (and 100 ms of spinning"));
  EXPECT_THAT(text, HasSubstr("server      2.00 us CPU a message, 4 % of a core, 3.0 MiB resident, 1,500 + 2 context"));
  EXPECT_THAT(text, HasSubstr("INVALID     998 of 1000 connections opened.\n"));
}

TEST(ReportText, an_empty_run_has_no_percentiles) {
  const LoadOptions options;
  const Outcome outcome(false);
  const std::string text = report_text("pingpong", options, outcome, {});
  EXPECT_THAT(text, HasSubstr("latency     no message came back\n"));
  EXPECT_THAT(text, HasSubstr("gates       all passed\n"));
  EXPECT_THAT(text, Not(HasSubstr("send lag")));
  EXPECT_THAT(text, Not(HasSubstr("server")));
}

TEST(ReportText, the_live_line_fits_a_terminal) {
  LoadOptions options;
  options.duration = 3600s;
  Progress progress{.elapsed = 3599s,
                    .messages_per_s = 1'234'567,
                    .in_flight = 10'000,
                    .open = 10'000,
                    .failures = 12,
                    .p50_ns = 123'456,
                    .p99_ns = 9'876'543};
  const std::string line = live_line(options, progress);
  EXPECT_LE(line.size(), 100U);
  EXPECT_THAT(line, HasSubstr("1,234,567/s  in flight 10000  open 10000  p50 123 us  p99 9.88 ms  errors 12"));
}

}  // namespace
}  // namespace peal::load
