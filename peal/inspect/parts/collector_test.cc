// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/collector.h>

#include <algorithm>
#include <future>
#include <latch>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal::detail {
namespace {

using std::chrono::milliseconds;
using testing::SizeIs;

class CollectorTest : public testing::Test {
 protected:
  ~CollectorTest() override { finish(); }
  void finish() {
    if (held) let_go();
    home.finish();
    other.finish();
  }
  std::shared_ptr<Collector> make(Duration reply_timeout) {
    return std::make_shared<Collector>(home.loop(), CollectorOptions{.reply_timeout = reply_timeout});
  }
  template <class Task>
  auto at_home(Task&& task) {
    return test::ask(home.loop(), std::forward<Task>(task));
  }
  Snapshot collect(Collector& collector, const Wanted& wanted = {}) {
    std::promise<Snapshot> promise;
    at_home([&] { collector.collect(wanted, [&promise](const Snapshot& snapshot) { promise.set_value(snapshot); }); });
    return promise.get_future().get();
  }
  // Blocks the other loop until let_go().
  void hold() {
    std::latch begun(1);
    other.loop().post([&, this] {
      begun.count_down();
      gate.wait();
    });
    begun.wait();
    held = true;
  }
  void let_go() {
    gate.count_down();
    held = false;
  }

  test::LoopThread home{{.engine = "epoll"}};
  test::LoopThread other{{.engine = "epoll"}};
  std::latch gate{1};
  bool held = false;
};

TEST_F(CollectorTest, loops_are_asked_on_their_own_threads) {
  const auto collector = make(std::chrono::seconds(30));
  at_home([&] {
    collector->add_loop(home.loop().mailbox());
    collector->add_loop(other.loop().mailbox());
    collector->add_loop(other.loop().mailbox());
  });
  const Snapshot snapshot = collect(*collector, {.details = true});
  ASSERT_THAT(snapshot.loops, SizeIs(2)) << "one that is added twice is there once";
  EXPECT_TRUE(snapshot.loops[0].answered);
  EXPECT_TRUE(snapshot.loops[1].answered);
  EXPECT_EQ(snapshot.loops[1].engine, "epoll");
  EXPECT_NE(snapshot.loops[0].thread_id, snapshot.loops[1].thread_id);
  EXPECT_TRUE(snapshot.loops[1].times.has_value());
  EXPECT_GT(snapshot.process.resident_bytes, 0u);
  EXPECT_GE(snapshot.threads.size(), 3u);
  EXPECT_GT(snapshot.process_cpu, Duration::zero());
  EXPECT_TRUE(collect(*collector).threads.empty()) << "nobody wanted them";
}

TEST_F(CollectorTest, stalled_loop_is_shown_as_such_and_holds_up_nobody) {
  const auto collector = make(milliseconds(5));
  at_home([&] { collector->add_loop(other.loop().mailbox()); });
  Snapshot before = collect(*collector);
  while (!before.loops[0].answered) before = collect(*collector);  // on a busy machine it takes longer
  hold();
  Snapshot snapshot = collect(*collector);
  EXPECT_FALSE(snapshot.loops[0].answered);
  EXPECT_FALSE(snapshot.loops[0].ended);
  EXPECT_GE(snapshot.loops[0].silent, milliseconds(5));
  EXPECT_EQ(snapshot.loops[0].thread_id, before.loops[0].thread_id) << "as it last said";
  for (int i = 0; i < 10; ++i) snapshot = collect(*collector);
  EXPECT_LE(snapshot.loops[0].tasks_waiting, 1u) << "a loop that owes an answer is not asked again";
  let_go();
  const TimePoint give_up = monotonic_now() + std::chrono::seconds(10);
  while (!snapshot.loops[0].answered && monotonic_now() < give_up) snapshot = collect(*collector);
  EXPECT_TRUE(snapshot.loops[0].answered);
}

TEST_F(CollectorTest, loop_that_has_ended_is_shown_as_ended) {
  const auto collector = make(std::chrono::seconds(30));
  at_home([&] { collector->add_loop(other.loop().mailbox()); });
  ASSERT_TRUE(collect(*collector).loops[0].answered);
  other.finish();
  for (int i = 0; i < 2; ++i) {
    const Snapshot snapshot = collect(*collector);
    EXPECT_TRUE(snapshot.loops[0].ended);
    EXPECT_FALSE(snapshot.loops[0].answered);
  }
}

TEST_F(CollectorTest, servers_are_shown_with_what_each_loop_knows) {
  auto group = LoopGroup::start(2, {.engine = "epoll"}).value();
  Server server(*group, test::echoing(), {.accept = AcceptMode::kRoundRobin});
  const SocketAddress address = server.listen("127.0.0.1:0").value();
  const auto collector = make(std::chrono::seconds(30));
  at_home([&] { collector->add_server("front", server); });
  std::vector<RawPeer> peers(3);
  for (RawPeer& peer : peers) peer.connect(address);
  Snapshot snapshot = collect(*collector);
  const TimePoint give_up = monotonic_now() + std::chrono::seconds(10);
  while (snapshot.servers[0].stats.opened < 3 && monotonic_now() < give_up) snapshot = collect(*collector);
  ASSERT_THAT(snapshot.servers, SizeIs(1));
  EXPECT_EQ(snapshot.servers[0].name, "front");
  EXPECT_EQ(snapshot.servers[0].connections, 3u);
  EXPECT_TRUE(snapshot.servers[0].rows.empty()) << "nobody wanted the connections";
  snapshot = collect(*collector, {.connections = ConnectionQuery{}});
  EXPECT_THAT(snapshot.servers[0].rows, SizeIs(3));
  EXPECT_EQ(snapshot.servers[0].matched, 3u);
  EXPECT_FALSE(snapshot.servers[0].partial);
  EXPECT_THAT(snapshot.loops, SizeIs(2));

  const ConnectionName name = snapshot.servers[0].rows[2].name;
  std::promise<std::optional<bool>> ended;
  at_home([&] {
    collector->end_connection(name, EndHow::kAbort, [&](std::optional<bool> found) { ended.set_value(found); });
  });
  EXPECT_EQ(ended.get_future().get(), true);
  while (server.connections() == 3 && monotonic_now() < give_up) std::this_thread::yield();
  EXPECT_EQ(server.connections(), 2u);
  std::promise<bool> described;
  at_home([&] {
    collector->describe(
        name, [&](const std::optional<ConnectionDetail>& detail) { described.set_value(detail && !detail->facts); });
  });
  EXPECT_TRUE(described.get_future().get()) << "it has ended";
  at_home([&] { collector->remove_server(server); });
  EXPECT_THAT(collect(*collector).servers, SizeIs(0));
  EXPECT_EQ(at_home([&] { return collector->server(0); }), nullptr);
}

// A user's own protocol may report different methods on each loop.
TEST_F(CollectorTest, methods_are_asked_on_each_loop_and_summed_by_name) {
  auto group = LoopGroup::start(2, {.engine = "epoll"}).value();
  Server server(*group, test::echoing());
  std::vector<MethodsView> views;
  for (size_t i = 0; i < 2; ++i) {
    views.emplace_back([i, loop = &(*group)[i]] {
      EXPECT_TRUE(loop->in_loop());
      MethodStats get{.name = "get", .calls = 1 + i, .under_way = 1};
      get.latency.record(1'000'000);
      return std::vector{MethodStats{.name = i == 0 ? "put" : "drop", .calls = 7}, get};
    });
  }
  const auto collector = make(std::chrono::seconds(30));
  at_home([&] { collector->add_server("own", server, {.methods = std::move(views)}); });
  const Snapshot snapshot = collect(*collector);
  const std::vector<MethodStats>& methods = snapshot.servers.at(0).methods;
  ASSERT_THAT(methods, SizeIs(3));
  const auto get = std::ranges::find(methods, "get", &MethodStats::name);
  ASSERT_NE(get, methods.end());
  EXPECT_EQ(get->calls, 3u);
  EXPECT_EQ(get->under_way, 2u);
  EXPECT_EQ(get->latency.total_count(), 2u);
}

TEST_F(CollectorTest, methods_of_a_stalled_loop_are_shown_as_it_last_told_them) {
  Server server(other.loop(), test::echoing());
  uint64_t calls = 1;
  const auto collector = make(milliseconds(5));
  at_home([&] {
    collector->add_server("own", server,
                          {.methods = {[&] { return std::vector{MethodStats{.name = "get", .calls = calls}}; }}});
  });
  Snapshot snapshot = collect(*collector);
  while (snapshot.servers[0].partial) snapshot = collect(*collector);  // on a busy machine it takes longer
  hold();
  calls = 2;
  snapshot = collect(*collector);
  EXPECT_TRUE(snapshot.servers[0].partial);
  ASSERT_THAT(snapshot.servers[0].methods, SizeIs(1));
  EXPECT_EQ(snapshot.servers[0].methods[0].calls, 1u);
  let_go();
  test::ask(other.loop(), [] {});
}

TEST_F(CollectorTest, calls_made_meanwhile_share_the_answer) {
  const auto collector = make(std::chrono::seconds(30));
  std::promise<void> both;
  int heard = 0;
  at_home([&] {
    collector->add_loop(other.loop().mailbox());
    const auto done = [&](const Snapshot& snapshot) {
      EXPECT_TRUE(snapshot.loops[0].answered);
      if (++heard == 2) both.set_value();
    };
    collector->collect({}, done);
    collector->collect({}, done);
  });
  both.get_future().wait();
  EXPECT_EQ(test::ask(other.loop(), [&] { return other.loop().stats().tasks; }), 3u)
      << "measure, answer once, and this";
}

TEST_F(CollectorTest, calls_that_want_something_else_get_it_afterwards) {
  Server one(other.loop(), test::echoing());
  Server two(other.loop(), test::echoing());
  std::vector<RawPeer> peers(2);
  peers[0].connect(one.listen("127.0.0.1:0").value());
  peers[1].connect(two.listen("127.0.0.1:0").value());
  const TimePoint give_up = monotonic_now() + std::chrono::seconds(10);
  while (one.connections() + two.connections() < 2 && monotonic_now() < give_up) std::this_thread::yield();
  const auto collector = make(std::chrono::seconds(30));
  std::array<std::promise<Snapshot>, 3> got;
  at_home([&] {
    collector->add_server("one", one);
    collector->add_server("two", two);
    const auto to = [&](size_t i) { return [&got, i](const Snapshot& snapshot) { got[i].set_value(snapshot); }; };
    collector->collect({}, to(0));
    collector->collect({.connections = ConnectionQuery{}, .server = 1}, to(1));
    collector->collect({.details = true}, to(2));
  });
  const Snapshot plain = got[0].get_future().get();
  EXPECT_TRUE(plain.servers[1].rows.empty());
  EXPECT_TRUE(plain.threads.empty());
  const Snapshot of_two = got[1].get_future().get();
  EXPECT_TRUE(of_two.servers[0].rows.empty());
  EXPECT_THAT(of_two.servers[1].rows, SizeIs(1));
  EXPECT_GE(got[2].get_future().get().threads.size(), 3u);
}

}  // namespace
}  // namespace peal::detail
