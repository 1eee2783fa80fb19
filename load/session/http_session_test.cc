// SPDX-License-Identifier: BSD-3-Clause
// Tests HTTP runs against a scripted server. Speed is not tested, so a slow machine does not make a test fail.
#include <load/session/http_session.h>

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/brief_load.h>
#include <load/scripted_http.h>
#include <tests/support/loop_thread.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;

LoadOptions brief(const ScriptedHttp& server, size_t connections = 4) {
  LoadOptions options = brief_load(server.address(), connections);
  options.target_text = server.url();
  return options;
}

Outcome run(const LoadOptions& options, HttpLoad load) {
  load.url = options.target_text;
  return outcome_of(options, *HttpProtocol::make(std::move(load), options.pipeline).value());
}

void expect_clean(const Outcome& outcome) {
  EXPECT_TRUE(outcome.failures.empty()) << outcome.failures.kinds.begin()->first << ": "
                                        << outcome.failures.kinds.begin()->second.first;
  EXPECT_TRUE(outcome.came_back);
  EXPECT_GT(outcome.total.counts.messages, 0U);
  EXPECT_EQ(outcome.total.counts.wrong, 0U);
}

uint64_t count_of(const Outcome& outcome, const std::string& kind) {
  const auto found = outcome.failures.kinds.find(kind);
  return found == outcome.failures.kinds.end() ? 0 : found->second.count;
}

class HttpLoadRun : public test::LoopEngineTest {};

TEST_P(HttpLoadRun, requests_follow_each_other_on_kept_connections) {
  std::atomic<size_t> asked = 0;
  ScriptedHttp server([&](size_t, size_t, const std::string&) {
    ++asked;
    return ScriptedAnswer{};
  });
  LoadOptions options = brief(server);
  options.engine = std::string(GetParam());
  const Outcome outcome = run(options, {.length = 5, .expected_body = "hello"});
  expect_clean(outcome);
  EXPECT_EQ(outcome.lifetime.messages, asked);
  EXPECT_EQ(outcome.lifetime.connects, 4U);
  EXPECT_EQ(outcome.lifetime.retired, 0U);
  EXPECT_EQ(outcome.connect.total_count(), 4U);
  EXPECT_EQ(outcome.total.first_byte->total_count(), outcome.total.counts.messages);
}

TEST_P(HttpLoadRun, short_connections_carry_one_request_each) {
  std::atomic<size_t> kept = 0;
  std::atomic<size_t> unannounced = 0;
  ScriptedHttp server([&](size_t, size_t request, const std::string& text) {
    if (request > 0) ++kept;
    if (!text.contains("\r\nConnection: close\r\n")) ++unannounced;
    return ScriptedAnswer{.close = true};
  });
  LoadOptions options = brief(server);
  options.engine = std::string(GetParam());
  options.requests_per_connection = {1, 1};
  const Outcome outcome = run(options, {});
  expect_clean(outcome);
  EXPECT_EQ(kept, 0U);
  EXPECT_EQ(unannounced, 0U);
  EXPECT_GE(outcome.lifetime.retired, outcome.lifetime.messages - 4);
  EXPECT_GE(outcome.connect.total_count(), outcome.lifetime.messages);
}

TEST_P(HttpLoadRun, pipelined_requests_have_a_stamp_each) {
  ScriptedHttp server([](size_t, size_t, const std::string&) { return ScriptedAnswer{.delay = 2ms}; });
  LoadOptions options = brief(server, 1);
  options.engine = std::string(GetParam());
  options.pipeline = 8;
  const Outcome outcome = run(options, {});
  expect_clean(outcome);
  // The server sends one answer every 2 ms. With 8 requests in flight, each request waits for seven earlier answers and
  // for its own. That takes 16 ms. The test expects at least 15 ms.
  EXPECT_GE(outcome.total.latency.value_at_percentile(50), Duration(15ms).count());
  EXPECT_GE(outcome.total.latency.total_count(), outcome.total.counts.messages);
}

PEAL_TEST_ON_EVERY_ENGINE(HttpLoadRun);

TEST(HttpSession, a_post_carries_headers_and_body) {
  std::string seen;
  ScriptedHttp server([&](size_t, size_t, const std::string& text) {
    seen = text;
    return ScriptedAnswer{};
  });
  const LoadOptions options = brief(server, 1);
  expect_clean(run(options, {.method = "POST", .headers = {{"X-Kind", "test"}}, .body = "name=peal"}));
  EXPECT_THAT(seen, testing::StartsWith("POST / HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(seen, HasSubstr("\r\nX-Kind: test\r\n"));
  EXPECT_THAT(seen, HasSubstr("\r\nContent-Length: 9\r\n"));
  EXPECT_THAT(seen, testing::EndsWith("\r\n\r\nname=peal"));
}

TEST(HttpSession, chunked_and_close_delimited_answers_are_whole) {
  for (const char* answer : {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
                             "HTTP/1.0 200 OK\r\n\r\nhello", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"}) {
    const bool closes = !std::string_view(answer).contains("chunked");
    ScriptedHttp server(
        [=](size_t, size_t, const std::string&) { return ScriptedAnswer{.bytes = answer, .close = closes}; });
    const Outcome outcome = run(brief(server), {.length = 5, .expected_body = "hello"});
    expect_clean(outcome);
    EXPECT_EQ(outcome.lifetime.connects > 4, closes) << answer;
  }
}

TEST(HttpSession, a_head_answer_has_no_body) {
  ScriptedHttp server([](size_t, size_t, const std::string&) {
    return ScriptedAnswer{.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"};
  });
  expect_clean(run(brief(server), {.method = "HEAD"}));
}

TEST(HttpSession, an_unexpected_status_is_counted_and_the_connection_stays_open) {
  ScriptedHttp server([](size_t, size_t request, const std::string&) {
    if (request % 2 == 0) return ScriptedAnswer{};
    return ScriptedAnswer{.bytes = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"};
  });
  const LoadOptions options = brief(server, 1);
  const Outcome outcome = run(options, {});
  EXPECT_GT(count_of(outcome, "status_503"), 0U);
  EXPECT_GT(outcome.lifetime.messages, 0U);
  EXPECT_EQ(outcome.lifetime.connects, 1U);
  EXPECT_GE(count_of(outcome, "status_503"), outcome.total.counts.wrong);
  // The second run expects status 503. So an answer with status 200 is wrong in this run.
  const Outcome asked = run(options, {.status = 503});
  EXPECT_GT(count_of(asked, "status_200"), 0U);
  EXPECT_EQ(count_of(asked, "status_503"), 0U);
}

TEST(HttpSession, a_wrong_length_and_a_wrong_body_are_told_apart) {
  ScriptedHttp server([](size_t, size_t, const std::string&) { return ScriptedAnswer{}; });
  const LoadOptions options = brief(server, 1);
  EXPECT_GT(count_of(run(options, {.length = 6}), "wrong_length"), 0U);
  EXPECT_GT(count_of(run(options, {.expected_body = "hellO"}), "wrong_body"), 0U);
  EXPECT_GT(count_of(run(options, {.expected_body = "hello!"}), "wrong_body"), 0U);
  EXPECT_GT(count_of(run(options, {.expected_body = "hell"}), "wrong_body"), 0U);
}

TEST(HttpSession, garbage_ends_in_a_named_failure_and_the_run_ends_by_itself) {
  struct {
    std::string bytes;
    const char* kind;
  } const cases[] = {
      {"SSH-2.0-OpenSSH_9.2\r\n", "bad_response"},
      {std::string(1000, '\0') + "\r\n", "bad_response"},
      {"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "bad_response"},
      {"HTTP/1.1 200 OK\r\n" + std::string(80'000, 'x'), "bad_response"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more", "unasked_answer"},
  };
  for (const auto& [bytes, kind] : cases) {
    ScriptedHttp server([&](size_t, size_t, const std::string&) { return ScriptedAnswer{.bytes = bytes}; });
    LoadOptions options = brief(server, 2);
    options.duration = std::chrono::hours(1);
    // In the case "unasked_answer", some answers are right, so the client never gives up its connections. The run then
    // lasts for its whole duration. So the duration is short in this case.
    if (kind == std::string_view("unasked_answer")) options.duration = 300ms;
    const Outcome outcome = run(options, {});
    EXPECT_GT(count_of(outcome, kind), 0U) << bytes.substr(0, 40);
  }
}

TEST(HttpSession, a_server_that_closes_in_the_middle_of_an_answer) {
  for (const bool reset : {false, true}) {
    ScriptedHttp server([=](size_t, size_t, const std::string&) {
      return ScriptedAnswer{
          .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf", .close = !reset, .reset = reset};
    });
    LoadOptions options = brief(server, 2);
    options.duration = std::chrono::hours(1);
    const Outcome outcome = run(options, {});
    EXPECT_EQ(outcome.lifetime.messages, 0U);
    EXPECT_GT(count_of(outcome, reset ? "reset" : "cut_short"), 0U);
    // Each of the 2 connections is opened six times: once at the beginning, and five more times with growing pauses.
    // Then the client gives up.
    EXPECT_EQ(outcome.lifetime.attempts, 2U * 6);
  }
}

TEST(HttpSession, requests_that_a_closing_server_left_unanswered_are_sent_again) {
  std::atomic<size_t> asked = 0;
  // The server closes connections as nginx does with its option keepalive_requests. The tenth answer on a connection
  // contains "Connection: close". Later requests on this connection get no answer. So the client must send them again
  // on a new connection.
  ScriptedHttp server([&](size_t, size_t request, const std::string&) {
    if (request > 9) return ScriptedAnswer{.silent = true};
    ++asked;
    if (request < 9) return ScriptedAnswer{};
    return ScriptedAnswer{.bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", .close = true};
  });
  LoadOptions options = brief(server, 2);
  options.pipeline = 4;
  const Outcome outcome = run(options, {});
  expect_clean(outcome);
  EXPECT_GT(outcome.lifetime.retired, 2U);
  EXPECT_LE(outcome.lifetime.messages, asked);
  EXPECT_GE(outcome.lifetime.messages + 2 * 4, asked);
}

// The server keeps the first connection open and closes all others as soon as it accepts them. The client sends its
// only request on the first connection. No request was sent on the closed connections, so their end is no failure.
TEST(HttpSession, a_close_before_anything_is_asked_is_no_failure) {
  ScriptedHttp server([](size_t, size_t, const std::string&) { return ScriptedAnswer{}; }, 1);
  LoadOptions options = brief(server, 3);
  options.arrivals = ArrivalPlan::at({100ms});
  options.warm_up = {};
  options.duration = 600ms;
  const Outcome outcome = run(options, {});
  expect_clean(outcome);
  EXPECT_GT(outcome.lifetime.idle_closes, 2U);
  EXPECT_EQ(outcome.lifetime.retired, outcome.lifetime.idle_closes);
  EXPECT_EQ(outcome.total.counts.messages, 1U);
}

// The client holds the second connection open without a request, but the server closes it. Such idle connections are a
// part of the load and must stay open. So the close is a failure.
TEST(HttpSession, a_close_of_a_connection_held_idle_is_a_failure) {
  ScriptedHttp server([](size_t, size_t, const std::string&) { return ScriptedAnswer{}; }, 1);
  LoadOptions options = brief(server, 1);
  options.idle_connections = 1;
  options.duration = 600ms;
  const Outcome outcome = run(options, {});
  EXPECT_GT(count_of(outcome, "closed_by_server"), 0U);
  EXPECT_EQ(outcome.lifetime.idle_closes, 0U);
}

TEST(HttpSession, an_answer_that_does_not_come_in_time_fails) {
  ScriptedHttp server(
      [](size_t, size_t request, const std::string&) { return ScriptedAnswer{.silent = request == 3}; });
  LoadOptions options = brief(server, 2);
  options.timeout = 50ms;
  options.duration = 400ms;
  const Outcome outcome = run(options, {});
  EXPECT_GT(count_of(outcome, "timeout"), 0U);
  EXPECT_GT(outcome.lifetime.connects, 2U) << "a connection that served is opened again";
}

TEST(HttpSession, without_a_timeout_a_missing_answer_is_a_failure_at_the_end) {
  ScriptedHttp server([](size_t, size_t, const std::string&) { return ScriptedAnswer{.silent = true}; });
  LoadOptions options = brief(server, 2);
  options.grace = 20ms;
  const Outcome outcome = run(options, {});
  EXPECT_EQ(count_of(outcome, "no_answer"), 2U);
  EXPECT_EQ(outcome.unanswered, 2U);
  EXPECT_FALSE(outcome.came_back);
}

TEST(HttpSession, a_request_that_cannot_be_composed_is_refused) {
  EXPECT_FALSE(HttpProtocol::make({.url = "127.0.0.1:80"}, 1).has_value());
  EXPECT_FALSE(HttpProtocol::make({.url = "http://127.0.0.1/", .method = "GET /x"}, 1).has_value());
  EXPECT_FALSE(HttpProtocol::make({.url = "http://127.0.0.1/", .headers = {{"A", "b\r\nC: d"}}}, 1).has_value());
}

}  // namespace
}  // namespace peal::load
