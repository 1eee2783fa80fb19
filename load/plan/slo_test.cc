// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/slo.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::HasSubstr;

// Returns a run at 1000 messages per second. It got 1000 answers, each after 1 ms; `failed` more messages failed.
RunRecord run(uint64_t failed = 0) {
  LoadOptions options;
  options.arrivals = ArrivalPlan::constant(1000);
  options.duration = 1s;
  Outcome outcome(RecordingParts{.open_loop = true});
  outcome.window = 1s;
  outcome.opened = outcome.served = 1;
  outcome.offered = 1000;
  outcome.total.counts.messages = outcome.lifetime.messages = 1000;
  outcome.total.latency.record_n(1'000'000, 1000);
  if (failed > 0) outcome.failures.add("timeout", "too late", failed);
  return make_record("echo", "64 bytes", "constant 1000/s", options, std::move(outcome));
}

std::string why(const char* objective, const RunRecord& record) {
  return why_not_held({parse_slo(objective).value()}, record);
}

TEST(Slo, parse_slo_reads_its_texts_and_refuses_others) {
  EXPECT_EQ(parse_slo("p99.9=2ms")->percent, 99.9);
  EXPECT_EQ(parse_slo("p99.9=2ms")->most, 2ms);
  EXPECT_EQ(parse_slo("max=1s")->percent, 100);
  EXPECT_DOUBLE_EQ(parse_slo("errors=0.1%")->share, 0.001);
  for (const char* text : {"", "p99", "p99=", "p99=1", "p49=1ms", "p99.999=1ms", "p=1ms", "p99=0s", "min=1ms",
                           "errors=1", "errors=101%", "errors=-1%", "p99=1ms ", "p1e2=1ms", "pnan=1ms"}) {
    const auto parsed = parse_slo(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_THAT(parsed.error(), HasSubstr("--slo takes p99=1ms"));
  }
}

TEST(Slo, a_latency_that_is_kept_and_one_that_is_not) {
  EXPECT_EQ(why("p99=1ms", run()), "p99 is 1.00 ms") << "the bucket's end is a little above";
  EXPECT_EQ(why("p99=1.1ms", run()), "");
  EXPECT_EQ(why("max=0.5ms", run()), "max is 1.00 ms");
}

TEST(Slo, failures_matter_unless_some_are_allowed) {
  EXPECT_THAT(why("p99=2ms", run(10)), HasSubstr("Unexpected errors"));
  EXPECT_EQ(why("errors=1%", run(10)), "");
  EXPECT_EQ(why("errors=0.5%", run(10)), "0.99 % of the messages failed, but the objective is errors=0.5%");
}

TEST(Slo, a_run_without_a_connection_does_not_hold_even_if_errors_are_allowed) {
  RunRecord record = run(1);
  record.options.duration = 5s;
  record = make_record("echo", "", "", record.options, std::move(record.outcome));
  EXPECT_THAT(why("errors=1%", record), HasSubstr("because no connection was left"));
}

TEST(Slo, a_rate_that_is_not_achieved_does_not_hold) {
  RunRecord record = run();
  record.outcome.offered = 1100;
  record = make_record("echo", "", "", record.options, std::move(record.outcome));
  EXPECT_THAT(why("errors=1%", record), HasSubstr("of the offered 1100/s was achieved"));
  record.outcome.total.latency.reset();
  EXPECT_EQ(why("p99=1s", record), "no message came back");
}

}  // namespace
}  // namespace peal::load
