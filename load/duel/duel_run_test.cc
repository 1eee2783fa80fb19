// SPDX-License-Identifier: BSD-3-Clause
// Duels against servers that the test starts. These servers use as much CPU time as the test tells them to. No test
// depends on speed, or on anything else that a busy machine could change.
#include <load/duel/duel_run.h>

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/duel_judge.h>
#include <load/forked_server.h>
#include <load/scripted_http.h>
#include <load/scripted_server.h>
#include <load/session/http_protocol.h>
#include <peal/engine/turn_budget.h>
#include <tests/support/duel/duelist.h>
#include <tests/support/duel/played_duel.h>
#include <tests/support/loop_thread.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;
using testing::Each;
using testing::HasSubstr;

// This is no test. The other tests start this program with this test case as a server.
TEST(Duelist, serves_if_told_where) { serve_if_told(); }

using load::program;
DuelContender program(const std::string& name, const DuelistManners& manners) {
  return program(name, duelist(manners));
}

DuelContender process(const std::string& name, const SocketAddress& target, std::optional<int> pid = std::nullopt) {
  return {.name = name, .command = {}, .target_text = target.to_string(), .target = target, .pid = pid};
}

DuelOptions short_duel(std::vector<DuelContender> contenders) {
  DuelOptions options = brief_duel(std::move(contenders));
  options.patience.late = 40ms;
  return options;
}

// Expects that every slice was played and that every message was answered.
void expect_whole(const DuelRecord& record, size_t restarts) {
  const size_t contenders = record.options.contenders.size();
  EXPECT_EQ(record.restarts, restarts);
  ASSERT_EQ(record.slices.size(), restarts * record.options.rounds * contenders);
  std::vector<uint64_t> messages(contenders, 0);
  for (size_t at = 0; at < record.slices.size(); ++at) {
    const SliceRecord& slice = record.slices[at];
    EXPECT_EQ(slice.restart, at / contenders / record.options.rounds);
    EXPECT_EQ(slice.round, at / contenders % record.options.rounds);
    EXPECT_EQ(slice.place, at % contenders);
    EXPECT_GT(slice.span, Duration::zero());
    EXPECT_GT(slice.client_cpu, Duration::zero());
    messages[slice.contender] += slice.messages;
  }
  for (size_t i = 0; i < contenders; ++i) {
    const DuelSideRecord& side = record.sides[i];
    EXPECT_TRUE(side.failures.empty()) << side.failures.kinds.begin()->second.first;
    EXPECT_GT(messages[i], 0U);
    EXPECT_EQ(side.counts.messages, messages[i]) << "messages of the warm-up do not count";
    EXPECT_EQ(side.counts.messages, side.latency.total_count());
    EXPECT_EQ(side.counts.bytes_sent, side.counts.bytes_received);
  }
}

// Expects that each slice of this contender was charged at least `least` for each message.
void expect_cost(const DuelRecord& record, size_t contender, Duration least) {
  for (const SliceRecord& slice : record.slices) {
    if (slice.contender != contender) continue;
    ASSERT_TRUE(slice.server_cpu);
    EXPECT_GE(*slice.server_cpu, least * static_cast<int64_t>(slice.messages));
  }
}

Duration cost_of(const DuelRecord& record, size_t contender) {
  Duration cpu{};
  uint64_t messages = 0;
  for (const SliceRecord& slice : record.slices) {
    if (slice.contender != contender) continue;
    cpu += slice.server_cpu.value_or(Duration::zero());
    messages += slice.messages;
  }
  return cpu / std::max<uint64_t>(messages, 1);
}

TEST(DuelRun, a_server_that_burns_more_cpu_costs_more) {
  DuelOptions options = short_duel(with_twin({program("a", DuelistManners{}), program("b", {.burn = 1ms})}));
  options.restarts = 2;
  options.slice = 10ms;
  const DuelRecord record = played(options);
  expect_whole(record, 2);
  expect_cost(record, 1, 1ms);
  EXPECT_THAT(restart_logs(record, DuelMetric::kServerCpu, 1, 0), Each(testing::Gt(0.0)));
  EXPECT_EQ(record.sides[0].processes, 1U);
  EXPECT_GT(record.sides[0].rss_bytes, 1U << 20);
  EXPECT_EQ(record.sides[0].rss_by_restart.size(), 2U);
  EXPECT_EQ(record.engine, "epoll");
  EXPECT_GT(record.elapsed, 2 * 3 * 3 * options.slice);
  EXPECT_FALSE(record.interrupted);
}

TEST(DuelRun, threads_and_child_processes_of_a_server_are_counted) {
  const DuelRecord record = played(
      short_duel({program("here", {.burn = 300us}), program("thread", {.burn = 300us, .work = DuelistWork::kThread}),
                  program("child", {.burn = 300us, .work = DuelistWork::kChild})}));
  expect_whole(record, 1);
  for (const size_t contender : {0, 1, 2}) expect_cost(record, contender, 300us);
  EXPECT_EQ(record.sides[1].processes, 1U);
  EXPECT_EQ(record.sides[2].processes, 2U);
}

TEST(DuelRun, work_deferred_until_after_the_slice_is_charged_to_it) {
  DuelOptions options =
      short_duel({program("at once", DuelistManners{}), program("later", {.burn = 1ms, .work = DuelistWork::kLater}),
                  program("at once too", DuelistManners{})});
  options.slice = 10ms;
  options.rounds = 8;
  const DuelRecord record = played(options);
  expect_whole(record, 1);
  EXPECT_GT(cost_of(record, 1), cost_of(record, 0) * 2);
  EXPECT_GT(cost_of(record, 1), cost_of(record, 2) * 2);
}

TEST(DuelRun, work_deferred_beyond_the_restart_is_noticed) {
  DuelOptions options = short_duel(
      {program("at once", DuelistManners{}), program("at last", {.burn = 1ms, .work = DuelistWork::kAtLast})});
  options.slice = 20ms;
  options.patience.late = 2s;
  const DuelRecord record = played(options);
  expect_whole(record, 1);
  EXPECT_EQ(record.sides[0].late_cpu, Duration::zero());
  EXPECT_GT(record.sides[1].late_cpu, 1ms);
}

TEST(DuelRun, cpu_time_of_an_idle_server_is_noticed) {
  DuelOptions options =
      short_duel({program("quiet", {.burn = 100us}), program("spins", {.work = DuelistWork::kAlways})});
  options.slice = 50ms;
  options.rounds = 1;
  const DuelRecord record = played(options);
  expect_whole(record, 1);
  for (const DuelSideRecord& side : record.sides) EXPECT_GE(side.idle_time, 40ms);
  EXPECT_EQ(record.sides[0].idle_cpu, Duration::zero());
  EXPECT_GT(record.sides[1].idle_cpu, Duration::zero());
}

TEST(DuelRun, servers_that_already_run_with_and_without_a_pid) {
  const Fd known = duelist_listener();
  const Fd unknown = duelist_listener();
  ForkedServer first([&known] { serve_as({.burn = 200us}, known); });
  ForkedServer second([&unknown] { serve_as({}, unknown); });
  DuelOptions options = short_duel(
      with_twin({process("known", address_of(known), first.pid()), process("unknown", address_of(unknown))}));
  options.restarts = 2;
  const DuelRecord record = played(options);
  expect_whole(record, 2);
  EXPECT_TRUE(record.server_cpus.empty()) << "servers that already run are not pinned";
  expect_cost(record, 0, 200us);
  expect_cost(record, 2, 200us);
  for (const SliceRecord& slice : record.slices) EXPECT_EQ(slice.server_cpu.has_value(), slice.contender != 1);
  // The twin is the same process as the first contender, and their slices alternate. Expected: no CPU time is charged
  // to both. So the charged sum is at most the CPU time of the process.
  Duration charged{};
  for (const SliceRecord& slice : record.slices) charged += slice.server_cpu.value_or(Duration::zero());
  clockid_t clock{};
  ASSERT_EQ(::clock_getcpuclockid(first.pid(), &clock), 0);
  EXPECT_LE(charged, *cpu_time(clock));
}

TEST(DuelRun, a_pid_without_a_process) {
  const Fd listener = duelist_listener();
  EXPECT_EQ(fault_of(short_duel(with_twin({process("a", address_of(listener), 1 << 23)}))),
            "a: there is no process 8388608, or its CPU time is hidden");
}

TEST(DuelRun, several_threads_and_pipelined_messages) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.load.threads = 3;
  options.load.connections = 8;
  options.load.pipeline = 4;
  expect_whole(played(options), 1);
}

TEST(DuelRun, a_connection_for_each_request) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.load.connections = 3;
  options.load.requests_per_connection = {1, 1};
  const DuelRecord record = played(options);
  expect_whole(record, 1);
  for (const DuelSideRecord& side : record.sides) {
    EXPECT_GE(side.counts.connects, side.counts.messages);
    EXPECT_EQ(side.counts.retired, side.counts.messages);
  }
}

TEST(DuelRun, a_server_that_closes_after_some_answers) {
  const ScriptedHttp server([](size_t, size_t request, const std::string&) {
    return ScriptedAnswer{.bytes = request < 2 ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                                               : "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbye",
                          .close = request == 2};
  });
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.load.connections = 2;
  options.slice = 10ms;
  const auto spoken = [&server](const DuelContender&, std::string_view authority) {
    EXPECT_EQ(authority, "") << "the duel has started no server";
    return std::move(HttpProtocol::make({.url = server.url()}, 1).value());
  };
  const std::expected<DuelRecord, std::string> record = run_duel(options, spoken);
  ASSERT_TRUE(record.has_value()) << record.error();
  for (const DuelSideRecord& side : record->sides) {
    EXPECT_TRUE(side.failures.empty()) << side.failures.kinds.begin()->second.first;
    EXPECT_GT(side.counts.messages, 0U);
  }
}

TEST(DuelRun, at_a_fixed_rate_a_slice_counts_all_messages_due_in_it) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.load.arrivals = ArrivalPlan::constant(2000);
  options.load.threads = 2;
  options.load.connections = 4;
  options.slice = 500ms;
  options.rounds = 2;
  const DuelRecord record = played(options);
  expect_whole(record, 1);
  for (const SliceRecord& slice : record.slices) {
    EXPECT_EQ(slice.messages, slice.offered);
    EXPECT_GE(slice.offered, 1000U);
    EXPECT_GT(slice.p50_ns, 0);
    EXPECT_GE(slice.p99_ns, slice.p50_ns);
  }
}

class DuelRunEngines : public test::LoopEngineTest {};

TEST_P(DuelRunEngines, large_messages_cut_by_the_end_of_a_slice_lose_no_byte) {
  for (const size_t size : {16384, 300'000}) {
    const ScriptedServer server;
    DuelOptions options = short_duel(with_twin({process("a", server.address())}));
    options.load.engine = std::string(GetParam());
    options.load.size = size;
    options.load.connections = 3;
    options.rounds = 20;
    const DuelRecord record = played(options);
    expect_whole(record, 1);
    EXPECT_EQ(record.engine, GetParam());
    for (const DuelSideRecord& side : record.sides) {
      EXPECT_GE(side.counts.bytes_received, side.counts.messages * size);
      EXPECT_GE(side.counts.reads, side.counts.messages * size / detail::kMostReceiveBytes);
    }
  }
}

TEST_P(DuelRunEngines, many_connections_on_several_threads) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address()), process("b", server.address())}));
  options.load.engine = std::string(GetParam());
  options.load.connections = 50;
  options.load.threads = 2;
  options.rounds = 5;
  expect_whole(played(options), 1);
}

PEAL_TEST_ON_EVERY_ENGINE(DuelRunEngines);

TEST(DuelRunEnds, each_round_is_reported_and_the_order_is_shuffled) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address()), process("b", server.address())}));
  options.rounds = 10;
  std::vector<size_t> rounds;
  const DuelRecord record = played(options, [&rounds](const DuelProgress& progress) {
    rounds.push_back(progress.rounds);
    EXPECT_EQ(progress.restarts_wanted, 1U);
    EXPECT_EQ(progress.record.restarts, 0U);
    EXPECT_GT(progress.elapsed, Duration::zero());
  });
  std::vector<size_t> expected(11);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(rounds, expected);
  std::set<std::vector<size_t>> orders;
  for (size_t round = 0; round < 10; ++round) {
    std::vector<size_t> order;
    for (size_t place = 0; place < 3; ++place) order.push_back(record.slices.at(round * 3 + place).contender);
    orders.insert(order);
    std::ranges::sort(order);
    EXPECT_THAT(order, testing::ElementsAre(0, 1, 2));
  }
  EXPECT_GT(orders.size(), 1U);
}

TEST(DuelRunEnds, no_restart_begins_when_the_budget_is_used_up) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.restarts = 0;
  options.precision = 1e-9;
  options.budget = options.slice * static_cast<int64_t>(options.contenders.size() * (options.rounds + 1));
  const DuelRecord record = played(options);
  EXPECT_EQ(record.restarts, 1U) << "the first restart is played even if it uses up the budget";
}

TEST(DuelRunEnds, a_first_restart_that_hangs_is_ended) {
  const ScriptedServer server(Manner::kSilent, 640);
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.budget = 200ms;
  options.patience.first = 200ms;
  options.patience.answer = std::chrono::hours(1);
  EXPECT_EQ(fault_of(options),
            "the budget of 200 ms ended before the first restart: raise --budget or lower --connections");
}

TEST(DuelRunEnds, after_the_pilot_the_precision_decides) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.restarts = 0;
  options.precision = 0.99;
  size_t told = 0;
  const DuelRecord record = played(options, [&told](const DuelProgress& progress) { told = progress.restarts_wanted; });
  EXPECT_GE(record.restarts, kPilotRestarts);
  EXPECT_EQ(record.restarts, told);
  EXPECT_LT(record.elapsed, options.budget);
}

TEST(DuelRunEnds, a_signal_before_the_first_restart_is_over) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  const std::expected<DuelRecord, std::string> record = play(options, [](const DuelProgress& progress) {
    if (progress.rounds == 1) ::raise(SIGTERM);
  });
  ASSERT_FALSE(record.has_value());
  EXPECT_EQ(record.error(), "interrupted before the first restart was over");
}

TEST(DuelRunEnds, a_later_signal_keeps_the_completed_restarts) {
  const ScriptedServer server;
  DuelOptions options = short_duel(with_twin({process("a", server.address())}));
  options.restarts = 100;
  const DuelRecord record = played(options, [](const DuelProgress& progress) {
    if (progress.record.restarts == 2 && progress.rounds == 1) ::raise(SIGINT);
  });
  expect_whole(record, 2);
  EXPECT_TRUE(record.interrupted);
}

}  // namespace
}  // namespace peal::load
