// SPDX-License-Identifier: BSD-3-Clause
// Tests runs with --expect-queueing against servers that serve only one connection at a time. A connection that waits
// until the server serves it is not a failure. All other faults are failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/brief_load.h>
#include <load/queueing_server.h>
#include <load/record/run_record.h>
#include <load/scripted_server.h>
#include <load/session/echo_session.h>
#include <load/session/http_protocol.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LoadOptions queueing(const SocketAddress& target, size_t connections) {
  LoadOptions options = brief_load(target, connections);
  options.duration = 50ms;
  options.grace = 20ms;
  options.expect_queueing = true;
  return options;
}

RunRecord recorded(const LoadOptions& options, const Protocol& protocol) {
  return make_record(std::string(protocol.name()), "", "", options, outcome_of(options, protocol));
}

// Repeats a run until the server has answered at least five messages, and returns the record of the last run. Each run
// is four times as long as the one before. This is needed on a busy machine, where the server may get too little CPU
// time.
RunRecord recorded_of_answers(LoadOptions options, const Protocol& protocol) {
  RunRecord record = recorded(options, protocol);
  while (record.outcome.total.counts.messages < 5 && options.duration < std::chrono::seconds(10)) {
    options.duration *= 4;
    options.grace *= 4;
    record = recorded(options, protocol);
  }
  return record;
}

std::vector<std::string> failures_of(const RunRecord& record) {
  std::vector<std::string> kinds;
  for (const auto& [kind, failure] : record.outcome.failures.kinds) kinds.push_back(kind);
  return kinds;
}

void expect_one_served(const RunRecord& record, size_t connections) {
  EXPECT_EQ(record.outcome.served, 1U);
  EXPECT_EQ(record.outcome.queued.connections, connections - 1);
  EXPECT_EQ(record.outcome.queued.unopened, 0U);
  EXPECT_GT(record.outcome.total.counts.messages, 0U);
  EXPECT_THAT(failures_of(record), IsEmpty());
  EXPECT_THAT(invalid_ones(record.gates), IsEmpty());
  EXPECT_THAT(record.skipped, Contains(testing::Field(&SkippedGate::sentence, HasSubstr("wait for their turn"))));
}

TEST(LoadQueueing, a_server_that_serves_one_at_a_time) {
  for (const size_t threads : {1, 3}) {
    for (const size_t pipeline : {1, 4}) {
      const QueueingServer server;
      LoadOptions options = queueing(server.address(), 10);
      options.threads = threads;
      options.pipeline = pipeline;
      expect_one_served(recorded_of_answers(options, EchoProtocol::framed(64)), 10);
    }
  }
}

TEST(LoadQueueing, every_protocol_can_wait_for_a_connections_turn) {
  const QueueingServer unframed;
  expect_one_served(recorded_of_answers(queueing(unframed.address(), 5), EchoProtocol::unframed(64)), 5);
  const QueueingServer http([](std::string_view) { return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"; });
  const std::string url = "http://" + http.address().to_string() + "/";
  const auto protocol = HttpProtocol::make({.url = url}, 1).value();
  expect_one_served(recorded_of_answers(queueing(http.address(), 5), *protocol), 5);
}

TEST(LoadQueueing, without_expect_queueing_a_waiting_connection_is_an_error) {
  const QueueingServer server;
  LoadOptions options = queueing(server.address(), 10);
  options.expect_queueing = false;
  const RunRecord record = recorded(options, EchoProtocol::framed(64));
  EXPECT_THAT(invalid_ones(record.gates), testing::IsSupersetOf({"errors", "bytes"}));
  EXPECT_EQ(record.outcome.failures.kinds.at("no_answer").count, 9U);
  EXPECT_EQ(record.outcome.queued.connections, 0U);
}

TEST(LoadQueueing, if_all_connections_are_served_none_has_waited) {
  const ScriptedServer server;
  LoadOptions options = queueing(server.address(), 10);
  options.grace = std::chrono::seconds(5);
  const RunRecord record = recorded_of_answers(options, EchoProtocol::unframed(64));
  EXPECT_EQ(record.outcome.served, 10U);
  EXPECT_EQ(record.outcome.queued.connections, 0U);
  EXPECT_THAT(invalid_ones(record.gates), IsEmpty());
}

// The client closes each connection after five messages and opens a new one. The new connection then waits until the
// server serves it. None of this is a failure.
TEST(LoadQueueing, connections_that_end_take_turns) {
  const QueueingServer server;
  LoadOptions options = queueing(server.address(), 4);
  options.requests_per_connection = {.least = 5, .most = 5};
  options.grace = std::chrono::seconds(2);  // long enough for the server to accept the next connection
  const RunRecord record = recorded_of_answers(options, EchoProtocol::framed(64));
  EXPECT_GT(record.outcome.lifetime.retired, 0U);
  EXPECT_LE(record.outcome.queued.connections, 4U);
  EXPECT_THAT(failures_of(record), IsEmpty());
  EXPECT_THAT(invalid_ones(record.gates), IsEmpty());
}

// The client sends one message on each connection. The server answers three messages. After that, it still accepts
// connections, but answers nothing. No connection is being served then, so the other messages do not wait in a queue:
// they have failed.
TEST(LoadQueueing, a_server_that_has_gone_silent_is_no_queue) {
  size_t asked = 0;
  const QueueingServer server(
      [&asked](std::string_view bytes) { return ++asked > 3 ? std::string() : std::string(bytes); });
  LoadOptions options = queueing(server.address(), 4);
  options.requests_per_connection = {.least = 1, .most = 1};
  const RunRecord record = recorded(options, EchoProtocol::framed(64));
  EXPECT_EQ(record.outcome.queued.connections, 0U);
  EXPECT_THAT(failures_of(record), ElementsAre("no_answer"));
  EXPECT_THAT(record.outcome.failures.kinds.at("no_answer").first, HasSubstr("the server was serving no connection"));
  EXPECT_THAT(invalid_ones(record.gates), Contains("errors"));
}

TEST(LoadQueueing, wrong_bytes_are_an_error_even_if_queueing_is_expected) {
  const QueueingServer server([](std::string_view bytes) {
    std::string answer(bytes);
    answer.back() = static_cast<char>(answer.back() ^ 1);
    return answer;
  });
  const RunRecord record = recorded(queueing(server.address(), 5), EchoProtocol::framed(64));
  EXPECT_THAT(failures_of(record), Contains("wrong_bytes"));
  EXPECT_THAT(invalid_ones(record.gates), Contains("errors"));
}

TEST(LoadQueueing, a_connection_whose_turn_has_come_must_be_answered) {
  // How many bytes the server sends back in total: only a part of the first answer (10 bytes), or all of it (68 bytes).
  for (const size_t answered : {10U, 68U}) {
    size_t left = answered;
    const QueueingServer server([&left](std::string_view bytes) {
      const size_t size = std::min(bytes.size(), left);
      left -= size;
      return std::string(bytes.substr(0, size));
    });
    const RunRecord record = recorded(queueing(server.address(), 5), EchoProtocol::framed(64));
    EXPECT_THAT(failures_of(record), ElementsAre("no_answer"));
    EXPECT_EQ(record.outcome.failures.kinds.at("no_answer").count, 1U);
    EXPECT_EQ(record.outcome.queued.connections, 4U);
    EXPECT_THAT(invalid_ones(record.gates), testing::IsSupersetOf({"errors", "bytes"}));
  }
}

TEST(LoadQueueing, a_connection_that_cannot_open_counts_as_waiting) {
  // With a backlog of 1, the kernel lets two connections wait while the server serves another one. The kernel drops all
  // further attempts to connect.
  const QueueingServer server(QueueingServer::echo, 1);
  LoadOptions options = queueing(server.address(), 100);
  options.connect_timeout = 200ms;
  const RunRecord record = recorded_of_answers(options, EchoProtocol::framed(64));
  EXPECT_EQ(record.outcome.served, 1U);
  EXPECT_GT(record.outcome.queued.unopened, 0U);
  EXPECT_EQ(record.outcome.opened + record.outcome.queued.unopened, 100U);
  EXPECT_EQ(record.outcome.queued.connections, 99U);
  EXPECT_THAT(failures_of(record), IsEmpty());
  EXPECT_THAT(invalid_ones(record.gates), IsEmpty());
}

TEST(LoadQueueing, a_run_without_any_answer_has_measured_nothing) {
  const QueueingServer server([](std::string_view) { return std::string(); });
  const RunRecord record = recorded(queueing(server.address(), 5), EchoProtocol::framed(64));
  EXPECT_EQ(record.outcome.served, 0U);
  EXPECT_THAT(invalid_ones(record.gates), ElementsAre("nothing"));
}

}  // namespace
}  // namespace peal::load
