// SPDX-License-Identifier: BSD-3-Clause
// Tests the load generator against servers that the test controls. Speed is not tested, so a slow machine does not make
// a test fail.
#include <load/load_run.h>

#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/brief_load.h>
#include <load/report/report_text.h>
#include <load/scripted_server.h>
#include <load/session/echo_session.h>
#include <peal/engine/listening_socket.h>
#include <peal/engine/turn_budget.h>
#include <tests/support/loop_thread.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::expected<Outcome, std::string> run_unframed(const LoadOptions& options) {
  return run_load(options, EchoProtocol::unframed(options.size));
}

Outcome outcome_of_unframed(const LoadOptions& options, OnInterval on_interval = {}) {
  return outcome_of(options, EchoProtocol::unframed(options.size), std::move(on_interval));
}

// Repeats a run until the server has answered at least one message, and returns the outcome of the last run. Each run
// is four times as long as the one before. This is needed on a busy machine, where the server may get too little CPU
// time.
Outcome outcome_of_answers(LoadOptions& options) {
  Outcome outcome = outcome_of_unframed(options);
  while (outcome.total.counts.messages == 0 && options.duration < std::chrono::seconds(10)) {
    options.duration *= 4;
    outcome = outcome_of_unframed(options);
  }
  return outcome;
}

std::vector<std::string> invalid_gates(const LoadOptions& options, const Outcome& outcome) {
  return invalid_ones(judge(options, outcome));
}

void expect_all_came_back(const Outcome& outcome, const LoadOptions& options) {
  EXPECT_TRUE(outcome.came_back);
  EXPECT_TRUE(outcome.failures.empty()) << outcome.failures.kinds.begin()->second.first;
  EXPECT_EQ(outcome.opened, options.connections);
  EXPECT_GT(outcome.total.counts.messages, 0U);
  EXPECT_EQ(outcome.lifetime.bytes_sent, outcome.lifetime.bytes_received);
  EXPECT_EQ(outcome.total.latency.total_count(), outcome.total.counts.messages);
  EXPECT_GE(outcome.window, options.duration);
}

// Returns a listening socket with a backlog of 1, so that almost no connection can wait to be accepted.
Fd short_queue() {
  return open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(), ListenOptions{.backlog = 1}).value();
}

class LoadRun : public test::LoopEngineTest {
 protected:
  LoadOptions brief_here(const SocketAddress& target, size_t connections, size_t size = 64) {
    LoadOptions options = brief_load(target, connections);
    options.size = size;
    options.engine = std::string(GetParam());
    return options;
  }
};

TEST_P(LoadRun, closed_loop_with_every_byte_back) {
  for (const size_t size : {1, 64, 16384, 100'000}) {
    ScriptedServer server;
    LoadOptions options = brief_here(server.address(), 10, size);
    const Outcome outcome = outcome_of_answers(options);
    expect_all_came_back(outcome, options);
    EXPECT_EQ(outcome.engine, GetParam());
    EXPECT_EQ(outcome.served, 10U);
    EXPECT_GE(outcome.lifetime.bytes_sent, outcome.lifetime.messages * size);
    EXPECT_GE(outcome.total.counts.reads, outcome.total.counts.messages * size / detail::kMostReceiveBytes);
    EXPECT_GT(outcome.total.cpu, Duration::zero());
  }
}

TEST_P(LoadRun, several_threads_share_the_connections) {
  ScriptedServer server;
  LoadOptions options = brief_here(server.address(), 8);
  options.threads = 3;
  const Outcome outcome = outcome_of_answers(options);
  expect_all_came_back(outcome, options);
  EXPECT_EQ(outcome.served, 8U);
}

TEST_P(LoadRun, at_a_rate_latency_counts_from_when_a_message_was_due) {
  ScriptedServer server;
  LoadOptions options = brief_here(server.address(), 4);
  options.arrivals = ArrivalPlan::constant(1000);
  options.threads = 2;
  const Outcome outcome = outcome_of_answers(options);
  expect_all_came_back(outcome, options);
  EXPECT_EQ(outcome.served, 4U) << "the connection that was idle longest takes the next message";
  const Recording& total = outcome.total;
  EXPECT_EQ(total.service->total_count(), total.counts.messages);
  EXPECT_GT(total.send_lag->total_count(), 0U);
  EXPECT_GE(total.latency.mean(), total.service->mean());
  // The schedule wants 1000 messages sent per second, so the server cannot answer more. The test adds 60 s for the time
  // before and after the measurement. That is much more than is needed.
  const double offered = 1000 * (outcome.seconds() + 60);
  EXPECT_LE(static_cast<double>(outcome.lifetime.messages), offered);
  EXPECT_EQ(outcome.lifetime.bytes_sent, outcome.lifetime.messages * 64);
  EXPECT_LE(total.spin, total.span);
}

PEAL_TEST_ON_EVERY_ENGINE(LoadRun);

TEST(LoadRunFaults, a_changed_byte_is_found) {
  ScriptedServer server(Manner::kFlipByte, 640);
  const LoadOptions options = brief_load(server.address(), 2);
  const Outcome outcome = outcome_of_unframed(options);
  ASSERT_TRUE(outcome.failures.kinds.contains("wrong_bytes"));
  EXPECT_GE(outcome.failures.kinds.at("wrong_bytes").count, 2U);
  EXPECT_EQ(outcome.failures.kinds.at("wrong_bytes").first, "byte 63 of a 64-byte message came back changed");
  EXPECT_THAT(invalid_gates(options, outcome), Contains("errors"));
  EXPECT_THAT(invalid_gates(options, outcome), Contains("bytes"));
}

TEST(LoadRunFaults, more_bytes_than_were_sent) {
  ScriptedServer server(Manner::kSendMore);
  const LoadOptions options = brief_load(server.address(), 1);
  const Outcome outcome = outcome_of_unframed(options);
  EXPECT_TRUE(outcome.failures.kinds.contains("too_many_bytes"));
}

TEST(LoadRunFaults, a_server_that_closes_half_way_is_asked_again) {
  for (const auto& [manner, kind] :
       {std::pair(Manner::kClose, "closed_by_server"), std::pair(Manner::kReset, "reset")}) {
    ScriptedServer server(manner, 640);
    const LoadOptions options = brief_load(server.address(), 3);
    const Outcome outcome = outcome_of_unframed(options);
    ASSERT_TRUE(outcome.failures.kinds.contains(kind)) << outcome.failures.kinds.begin()->first;
    EXPECT_GE(outcome.failures.kinds.at(kind).count, 3U);
    EXPECT_GT(outcome.lifetime.connects, 3U);
    EXPECT_THAT(invalid_gates(options, outcome), Contains("errors"));
  }
}

TEST(LoadRunFaults, a_server_may_close_a_connection_that_carried_no_request) {
  ScriptedServer server(Manner::kKeepFirst);
  LoadOptions options = brief_load(server.address(), 3);
  options.arrivals = ArrivalPlan::at({100ms});
  options.warm_up = {};
  options.duration = 600ms;
  const Outcome outcome = outcome_of_unframed(options);
  expect_all_came_back(outcome, options);
  EXPECT_GT(outcome.lifetime.idle_closes, 2U);
  EXPECT_THAT(invalid_gates(options, outcome), testing::IsEmpty());
}

TEST(LoadRunFaults, a_server_that_never_answers_is_not_waited_for) {
  ScriptedServer server(Manner::kSilent);
  LoadOptions options = brief_load(server.address(), 3);
  options.grace = 20ms;
  const Outcome outcome = outcome_of_unframed(options);
  EXPECT_FALSE(outcome.came_back);
  EXPECT_EQ(outcome.served, 0U);
  EXPECT_EQ(outcome.lifetime.bytes_sent, 3U * 64);
  EXPECT_EQ(outcome.unanswered, 3U);
  EXPECT_EQ(outcome.failures.kinds.at("no_answer").count, 3U);
  EXPECT_THAT(invalid_gates(options, outcome), testing::IsSupersetOf({"errors", "bytes", "nothing"}));
}

TEST(LoadRunFaults, at_a_rate_unsent_and_unanswered_messages_are_counted) {
  ScriptedServer server(Manner::kSilent);
  LoadOptions options = brief_load(server.address(), 3);
  options.arrivals = ArrivalPlan::constant(1000);
  options.grace = 20ms;
  const Outcome outcome = outcome_of_unframed(options);
  EXPECT_EQ(outcome.unanswered, 3U);
  // The schedule wants 100 messages sent during the measurement of 100 ms. The server never answers, so only one
  // message can be sent on each of the three connections. At least the other 97 stay unsent.
  EXPECT_GE(outcome.unsent, 97U);
  EXPECT_THAT(invalid_gates(options, outcome), Contains("achieved"));
}

TEST(LoadRunFaults, nobody_listens) {
  const SocketAddress gone = [] { return ScriptedServer().address(); }();
  const std::expected<Outcome, std::string> outcome = run_unframed(brief_load(gone, 5));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error(), "cannot connect to " + gone.to_string() + ": Connection refused");
}

TEST(LoadRunFaults, connections_that_do_not_open_in_time) {
  // The server never calls accept(). So the kernel opens only as many connections as the listener's queue holds, and
  // drops all other attempts.
  const Fd listener = short_queue();
  LoadOptions options = brief_load(listening_address(listener.get()).value(), 100);
  options.connect_timeout = 200ms;
  options.grace = 20ms;
  const Outcome outcome = outcome_of_unframed(options);
  EXPECT_GT(outcome.opened, 0U);
  EXPECT_LT(outcome.opened, 100U);
  EXPECT_EQ(outcome.failures.kinds.at("connect_timeout").count, 100 - outcome.opened);
  EXPECT_THAT(invalid_gates(options, outcome), Contains("connections"));
}

TEST(LoadRunFaults, there_is_no_such_server_process) {
  ScriptedServer server;
  LoadOptions options = brief_load(server.address(), 1);
  options.server_pid = 1 << 23;
  const std::expected<Outcome, std::string> outcome = run_unframed(options);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_THAT(outcome.error(), HasSubstr("there is no process 8388608, or its CPU time cannot be read"));
}

TEST(LoadRunLife, the_servers_cpu_and_memory_are_read) {
  ScriptedServer server;
  LoadOptions options = brief_load(server.address(), 2);
  options.server_pid = ::getpid();
  const Outcome outcome = outcome_of_answers(options);
  ASSERT_TRUE(outcome.knows_server_cpu());
  EXPECT_GE(*outcome.server->cpu, outcome.total.cpu) << "this process is the client, too";
  EXPECT_GT(outcome.server->rss_bytes, 1U << 20);
  EXPECT_GT(outcome.server->voluntary_switches + outcome.server->involuntary_switches, 0U);
}

TEST(LoadRunLife, a_signal_ends_it_with_what_was_measured) {
  ScriptedServer server;
  LoadOptions options = brief_load(server.address(), 2);
  options.duration = std::chrono::hours(1);
  options.interval = 50ms;
  int looks = 0;
  const Outcome outcome = outcome_of_unframed(options, [&](const Interval& interval, const Outcome& so_far) {
    EXPECT_EQ(interval.open, 2U);
    EXPECT_EQ(interval.in_flight, 2U);
    if (interval.counts.messages == 0) return;  // the machine was busy and the server got no time
    EXPECT_GT(interval.p99_ns, 0);
    EXPECT_GE(so_far.total.counts.messages, interval.counts.messages);
    // raise() sends the signal to this thread, whose loop handles it. kill() could choose the server's thread, which
    // has not blocked the signal.
    if (++looks == 2) ::raise(SIGINT);
  });
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_TRUE(outcome.came_back);
  EXPECT_GE(outcome.window, 2 * 50ms);
  EXPECT_EQ(outcome.total.latency.total_count(), outcome.total.counts.messages);
  EXPECT_THAT(invalid_gates(options, outcome), Not(Contains("interrupted")));
}

TEST(LoadRunLife, connections_come_from_the_addresses_asked_for) {
  ScriptedServer server;
  LoadOptions options = brief_load(server.address(), 4);
  options.sources = {SocketAddress::parse("127.0.0.2:0").value(), SocketAddress::parse("127.0.0.3:0").value()};
  const Outcome outcome = outcome_of_unframed(options);
  expect_all_came_back(outcome, options);
}

TEST(LoadRunLife, on_interval_is_called_for_every_interval_except_the_last) {
  ScriptedServer server;
  LoadOptions options = brief_load(server.address(), 4);
  options.threads = 2;
  options.interval = 10ms;
  size_t told = 0;
  const Outcome outcome = outcome_of_unframed(options, [&](const Interval& interval, const Outcome& so_far) {
    ++told;
    EXPECT_EQ(so_far.intervals.size(), told);
    EXPECT_EQ(so_far.intervals.back().to, interval.to);
  });
  EXPECT_EQ(told + 1, outcome.intervals.size());
}

// Returns true if the queue of the listening socket is full. The kernel then drops the next SYN. For a listening
// socket, `tcpi_unacked` is the number of waiting connections, and `tcpi_sacked` is the limit of this number.
bool queue_is_full(int listener) {
  tcp_info info{};
  socklen_t size = sizeof info;
  EXPECT_EQ(::getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
  return info.tcpi_unacked > info.tcpi_sacked;
}

// Accepts the first connection, then fills the listener's queue so that no other client can connect. Then echoes one
// message of 64 bytes on the first connection, and waits until the client closes it.
void serve_one_and_let_nobody_in(int listener, const SocketAddress& address) {
  pollfd first{.fd = listener, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&first, 1, -1), 1);
  const Fd served(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  std::vector<Fd> queued;
  while (!queue_is_full(listener)) {
    queued.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(queued.back().get(), address.data(), address.size());
    pollfd waits{.fd = queued.back().get(), .events = POLLOUT, .revents = 0};
    ::poll(&waits, 1, 100);
  }
  char message[64];
  EXPECT_EQ(::recv(served.get(), message, sizeof message, MSG_WAITALL), 64);
  EXPECT_EQ(::send(served.get(), message, sizeof message, MSG_NOSIGNAL), 64);
  EXPECT_EQ(::recv(served.get(), message, sizeof message, 0), 0);
}

// Regression: a user interrupted a run of short connections while eight of them were being opened. The report said "8
// failed", although all checks passed and nothing had failed. A connection attempt that the end of the run cuts off
// must not count as failed.
TEST(LoadRunLife, a_connect_that_the_end_cuts_off_has_not_failed) {
  const Fd listener = short_queue();
  const SocketAddress address = listening_address(listener.get()).value();
  std::jthread server([&] { serve_one_and_let_nobody_in(listener.get(), address); });
  LoadOptions options = brief_load(address, 1);
  options.requests_per_connection = {.least = 1, .most = 1};
  options.duration = std::chrono::hours(1);
  options.interval = 10ms;
  bool ends = false;
  const Outcome outcome = outcome_of_unframed(options, [&](const Interval&, const Outcome& so_far) {
    if (so_far.lifetime.attempts == 2 && !std::exchange(ends, true)) ::raise(SIGINT);
  });
  EXPECT_EQ(outcome.lifetime.attempts, 2U);
  EXPECT_EQ(outcome.lifetime.connects, 1U);
  EXPECT_EQ(outcome.lifetime.under_way, 1U);
  EXPECT_TRUE(outcome.failures.empty());
  const RunRecord record = make_record("pingpong", "64 bytes", "", options, outcome);
  EXPECT_THAT(report_text(record), HasSubstr("2 attempts, 1 opened, 0 failed, 1 retired, 1 under way at the end\n"));
}

TEST(LoadRunLife, a_rate_nobody_can_keep_is_shed_and_the_run_ends) {
  ScriptedServer server;
  LoadOptions options = brief_load(server.address(), 2);
  options.arrivals = ArrivalPlan::constant(kMostRate);
  options.deadline = 1us;
  const Outcome outcome = outcome_of_unframed(options);
  EXPECT_TRUE(outcome.came_back);
  EXPECT_GT(static_cast<double>(outcome.total.counts.shed), 0.9 * outcome.offered);
}

}  // namespace
}  // namespace peal::load
