// SPDX-License-Identifier: BSD-3-Clause
// Runs with --expect-queueing against servers that serve a connection at a time: what waits is no failure, whatever
// else goes wrong is one.
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

// The same of a server that answers. A busy machine may hardly let it in so short a time: then the run is longer.
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
  EXPECT_THAT(record.skipped,
              Contains(testing::Field(&SkippedGate::sentence, HasSubstr("waits for a connection's turn"))));
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

TEST(LoadQueueing, of_every_protocol) {
  const QueueingServer unframed;
  expect_one_served(recorded_of_answers(queueing(unframed.address(), 5), EchoProtocol::unframed(64)), 5);
  const QueueingServer http([](std::string_view) { return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"; });
  const std::string url = "http://" + http.address().to_string() + "/";
  const auto protocol = HttpProtocol::make({.url = url}, 1).value();
  expect_one_served(recorded_of_answers(queueing(http.address(), 5), *protocol), 5);
}

TEST(LoadQueueing, unless_it_is_expected_it_stays_an_error) {
  const QueueingServer server;
  LoadOptions options = queueing(server.address(), 10);
  options.expect_queueing = false;
  const RunRecord record = recorded(options, EchoProtocol::framed(64));
  EXPECT_THAT(invalid_ones(record.gates), testing::IsSupersetOf({"errors", "bytes"}));
  EXPECT_EQ(record.outcome.failures.kinds.at("no_answer").count, 9U);
  EXPECT_EQ(record.outcome.queued.connections, 0U);
}

TEST(LoadQueueing, where_everybody_is_served_nobody_has_waited) {
  const ScriptedServer server;
  LoadOptions options = queueing(server.address(), 10);
  options.grace = std::chrono::seconds(5);
  const RunRecord record = recorded_of_answers(options, EchoProtocol::unframed(64));
  EXPECT_EQ(record.outcome.served, 10U);
  EXPECT_EQ(record.outcome.queued.connections, 0U);
  EXPECT_THAT(invalid_ones(record.gates), IsEmpty());
}

// Each is served, and waits again when it is opened anew.
TEST(LoadQueueing, connections_that_end_take_turns) {
  const QueueingServer server;
  LoadOptions options = queueing(server.address(), 4);
  options.requests_per_connection = {.least = 5, .most = 5};
  options.grace = std::chrono::seconds(2);  // until the server has turned to somebody
  const RunRecord record = recorded_of_answers(options, EchoProtocol::framed(64));
  EXPECT_GT(record.outcome.lifetime.retired, 0U);
  EXPECT_LE(record.outcome.queued.connections, 4U);
  EXPECT_THAT(failures_of(record), IsEmpty());
  EXPECT_THAT(invalid_ones(record.gates), IsEmpty());
}

// One answer a connection, and after some of them it accepts and answers nobody any more.
TEST(LoadQueueing, a_server_that_has_gone_silent_is_no_queue) {
  size_t asked = 0;
  const QueueingServer server(
      [&asked](std::string_view bytes) { return ++asked > 3 ? std::string() : std::string(bytes); });
  LoadOptions options = queueing(server.address(), 4);
  options.requests_per_connection = {.least = 1, .most = 1};
  const RunRecord record = recorded(options, EchoProtocol::framed(64));
  EXPECT_EQ(record.outcome.queued.connections, 0U);
  EXPECT_THAT(failures_of(record), ElementsAre("no_answer"));
  EXPECT_THAT(record.outcome.failures.kinds.at("no_answer").first, HasSubstr("nobody was being served"));
  EXPECT_THAT(invalid_ones(record.gates), Contains("errors"));
}

TEST(LoadQueueing, wrong_bytes_are_an_error_all_the_same) {
  const QueueingServer server([](std::string_view bytes) {
    std::string answer(bytes);
    answer.back() = static_cast<char>(answer.back() ^ 1);
    return answer;
  });
  const RunRecord record = recorded(queueing(server.address(), 5), EchoProtocol::framed(64));
  EXPECT_THAT(failures_of(record), Contains("wrong_bytes"));
  EXPECT_THAT(invalid_ones(record.gates), Contains("errors"));
}

TEST(LoadQueueing, whose_turn_has_come_and_is_not_answered_is_a_failure) {
  for (const size_t answered : {10U, 68U}) {  // part of the first answer; the first answer alone
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

TEST(LoadQueueing, who_cannot_even_connect_waits_too) {
  // The kernel lets two wait behind who is served, and drops the other attempts.
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

TEST(LoadQueueing, where_nobody_is_served_nothing_was_measured) {
  const QueueingServer server([](std::string_view) { return std::string(); });
  const RunRecord record = recorded(queueing(server.address(), 5), EchoProtocol::framed(64));
  EXPECT_EQ(record.outcome.served, 0U);
  EXPECT_THAT(invalid_ones(record.gates), ElementsAre("nothing"));
}

}  // namespace
}  // namespace peal::load
