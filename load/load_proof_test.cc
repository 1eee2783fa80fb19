// SPDX-License-Identifier: BSD-3-Clause
// Tests that the load generator reports the truth. The servers delay, freeze or drop answers in a known way, and the
// results must show it. The expected bounds are computed from the server's script and the send schedule alone. A slow
// machine can only make a latency longer. So the bounds are lower bounds, or shares of the messages that the schedule
// wanted sent.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <load/brief_load.h>
#include <load/scripted_http.h>
#include <load/session/http_protocol.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr int kMostRuns = 5;

LoadOptions options_for(const ScriptedHttp& server, size_t connections, Duration duration) {
  LoadOptions options = brief_load(server.address(), connections);
  options.target_text = server.url();
  options.duration = duration;
  return options;
}

Outcome run(const LoadOptions& options) {
  return outcome_of(options, *HttpProtocol::make({.url = options.target_text}, options.pipeline).value());
}

uint64_t above(const Histogram& histogram, Duration bound) {
  return histogram.total_count() - histogram.count_at_or_below(bound.count() - 1);
}

double rate_times_mean(const Outcome& outcome, const Histogram& times) {
  return outcome.messages_per_s() * times.mean() * 1e-9;
}

// Returns a script for a server that sleeps once, for the time `freeze`. It sleeps when it gets request number `from`,
// counted over all connections. During the sleep, it answers no request.
ScriptedHttp::Script freezing(size_t from, Duration freeze) {
  return [from, freeze, asked = std::make_shared<std::atomic<size_t>>(0)](size_t, size_t, const std::string&) {
    return ScriptedAnswer{.freeze = ++*asked == from ? freeze : Duration::zero()};
  };
}

TEST(LoadProof, a_known_delay_is_what_is_recorded) {
  ScriptedHttp server([](size_t, size_t, const std::string&) { return ScriptedAnswer{.delay = 20ms}; });
  const Outcome closed = run(options_for(server, 5, 500ms));
  EXPECT_EQ(above(closed.total.latency, 20ms), closed.total.counts.messages)
      << "no answer came before its delay was over";
  const auto rounds = static_cast<uint64_t>(closed.window / Duration(20ms)) + 1;
  EXPECT_LE(closed.total.counts.messages, 5 * rounds) << "five connections cannot get more answers in this time";

  LoadOptions options = options_for(server, 20, 500ms);
  options.arrivals = ArrivalPlan::constant(200);
  const Outcome open = run(options);
  EXPECT_EQ(above(open.total.service.value(), 20ms), open.total.counts.messages);
  EXPECT_EQ(above(open.total.latency, 20ms), open.total.counts.messages);
}

TEST(LoadProof, two_delays_make_two_peaks_of_the_right_size) {
  ScriptedHttp server([asked = size_t{0}](size_t, size_t, const std::string&) mutable {
    return ScriptedAnswer{.delay = ++asked % 4 == 0 ? Duration(200ms) : Duration(5ms)};
  });
  LoadOptions options = options_for(server, 50, 2s);
  options.arrivals = ArrivalPlan::poisson(200);
  double slow = 0;
  // On a busy machine, answers that should be fast may be slow. Then the test repeats the run.
  for (int runs = 0; runs < kMostRuns && std::abs(slow - 0.25) > 0.05; ++runs) {
    const Outcome outcome = run(options);
    const Histogram& service = *outcome.total.service;
    slow = static_cast<double>(above(service, 200ms)) / static_cast<double>(service.total_count());
    EXPECT_EQ(above(service, 5ms), service.total_count());
  }
  EXPECT_NEAR(slow, 0.25, 0.05);
}

// The server freezes for 1.4 s. A closed loop waits for each answer before it sends again, so it records only one slow
// answer for each connection. Real users do not wait for each other: all who come during the freeze are delayed. An
// open loop must show that.
TEST(LoadProof, a_freeze_is_seen_by_all_who_came_within_it) {
  constexpr Duration kFreeze = 1400ms;
  ScriptedHttp closed_server(freezing(500, kFreeze));
  const Outcome closed = run(options_for(closed_server, 4, 2s));
  EXPECT_GE(above(closed.total.latency, kFreeze - 5ms), 1U) << "the request that starts the freeze waits for all of it";
  EXPECT_LE(above(closed.total.latency, kFreeze / 2), 4U + 4U)
      << "a closed loop sends nothing more on a connection that waits";

  ScriptedHttp open_server(freezing(500, kFreeze));
  LoadOptions options = options_for(open_server, 4, 2s);
  options.arrivals = ArrivalPlan::constant(1000);
  const Outcome open = run(options);
  // The schedule wants one message sent every millisecond, so 700 messages are due in the first half of the freeze.
  // Each of them waits at least for the second half, which is 700 ms. The test accepts 10 messages fewer. The next
  // check does the same for three quarters of the freeze.
  EXPECT_GE(above(open.total.latency, kFreeze / 2) + open.unsent, 690U);
  EXPECT_GE(above(open.total.latency, kFreeze / 4) + open.unsent, 1040U);
  EXPECT_GE(open.total.latency.max(), (kFreeze - 2ms).count());
  // The service time begins when a message is really sent. So it hides the freeze, as a closed loop does.
  EXPECT_LE(above(*open.total.service, kFreeze / 2), 4U + 4U);
}

TEST(LoadProof, past_a_deadline_nothing_is_sent_and_all_is_counted) {
  ScriptedHttp server(freezing(200, 700ms));
  LoadOptions options = options_for(server, 2, 1500ms);
  options.arrivals = ArrivalPlan::constant(1000);
  options.deadline = 100ms;
  const Outcome outcome = run(options);
  EXPECT_GE(outcome.total.counts.shed, 590U) << "due in the first 600 ms of the freeze";
  EXPECT_TRUE(outcome.failures.empty());
  const auto counted = static_cast<double>(outcome.total.send_lag->total_count() + outcome.total.counts.shed);
  EXPECT_NEAR(counted + static_cast<double>(outcome.unsent), outcome.offered, 300)
      << "each message that was due was sent, shed, or is unsent; on a busy machine a run begins and ends late";
  EXPECT_LE(outcome.total.send_lag->max(), std::chrono::nanoseconds(100ms).count() * 5);
}

TEST(LoadProof, dropped_answers_are_failures_or_censored_never_forgotten) {
  // The server leaves every hundredth request unanswered. The client then sends nothing more on that connection until
  // its own timeout of 1.5 s has passed.
  std::atomic<size_t> asked = 0;
  ScriptedHttp server([&](size_t, size_t, const std::string&) { return ScriptedAnswer{.silent = ++asked % 100 == 0}; });
  LoadOptions options = options_for(server, 8, 2s);
  options.timeout = 1500ms;  // longer than a busy machine may delay an answer
  const Outcome outcome = run(options);
  ASSERT_TRUE(outcome.failures.kinds.contains("timeout"));
  const uint64_t dropped = asked / 100;
  const uint64_t failed = outcome.failures.count();
  EXPECT_LE(failed, dropped);
  EXPECT_GE(failed + 8, dropped) << "except those that were in flight at the end";
  EXPECT_EQ(outcome.lifetime.messages + dropped, asked);
}

TEST(LoadProof, littles_law_holds) {
  ScriptedHttp server([](size_t, size_t request, const std::string&) {
    return ScriptedAnswer{.delay = Duration(1ms) * static_cast<int64_t>(1 + request % 7)};
  });
  const LoadOptions closed_options = options_for(server, 10, 1s);
  double in_flight = 0;
  // On a busy machine the server may be delayed at the beginning or the end of a run. Then messages are missing from
  // the count, and the test repeats the run.
  for (int runs = 0; runs < kMostRuns && std::abs(in_flight - 10) > 1; ++runs) {
    const Outcome closed = run(closed_options);
    in_flight = rate_times_mean(closed, closed.total.latency);
  }
  EXPECT_NEAR(in_flight, 10, 1);

  LoadOptions open_options = options_for(server, 40, 1s);
  open_options.arrivals = ArrivalPlan::poisson(500);
  const Outcome open = run(open_options);
  const double flight = rate_times_mean(open, *open.total.service);
  EXPECT_GT(flight, 500 * 0.003) << "the mean delay is 4 ms";
  EXPECT_LT(flight, 40);
}

TEST(LoadProof, what_was_sent_follows_the_schedule) {
  // When each request arrived at the server. Request number k must not arrive before the time at which the schedule
  // wanted it sent.
  std::vector<TimePoint> arrived;
  ScriptedHttp server([&](size_t, size_t, const std::string&) {
    arrived.push_back(TimePoint(std::chrono::steady_clock::now().time_since_epoch()));
    return ScriptedAnswer{};
  });
  LoadOptions options = options_for(server, 4, 400ms);
  options.warm_up = Duration::zero();
  options.arrivals = ArrivalPlan::steps({200, 1000, 400}, 100ms);
  const TimePoint before(std::chrono::steady_clock::now().time_since_epoch());
  const Outcome outcome = run(options);
  ASSERT_GT(arrived.size(), 100U);
  size_t piece = 0;
  for (size_t k = 0; k < arrived.size(); ++k) {
    EXPECT_GE(arrived[k], before + options.arrivals->due(k, piece)) << k;
  }
  // The test does not know how long after the start of the schedule the measurement begins. So it tries all delays from
  // 0 to 200 ms. For at least one of them, the number of scheduled messages must differ from `offered` by at most 3.
  const auto due_from = [&](Duration begin) { return options.arrivals->expected_count(begin, begin + outcome.window); };
  double nearest = 1e9;
  for (Duration begin{}; begin <= 200ms; begin += 1ms) {
    nearest = std::min(nearest, std::abs(due_from(begin) - outcome.offered));
  }
  EXPECT_LE(nearest, 3);
}

}  // namespace
}  // namespace peal::load
