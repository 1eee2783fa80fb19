// SPDX-License-Identifier: BSD-3-Clause
// Draining: work in progress is finished, the rest is cut off, and the report tells how many of each.
#include <future>
#include <vector>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr Duration kLong = std::chrono::seconds(10);
constexpr Duration kSoon = std::chrono::milliseconds(50);

class ServerDrainTest : public test::NetTest {
 protected:
  // Returns callbacks that answer each message that ends in a newline.
  ConnectionCallbacks lines() {
    return journal.callbacks({.on_message = [this](Connection& connection, Buffer& input) {
      if (!input.view().ends_with('\n')) {
        journal.add("half");
        return;
      }
      connection.send(std::move(input));
    }});
  }
};

TEST_P(ServerDrainTest, server_without_connections_is_done_at_once) {
  auto server = serve({});
  EXPECT_EQ(server->drain_and_wait(kLong).finished, 0u);
  Server idle(loop(), {});
  EXPECT_EQ(idle.drain_and_wait(kLong).forced, 0u);
  EXPECT_EQ(server->drain_and_wait(kLong).finished, 0u);
}

TEST_P(ServerDrainTest, idle_connections_end_gracefully_and_nobody_new_comes_in) {
  auto server = serve(journal.callbacks());
  std::vector<RawPeer> peers = RawPeer::connected_many(address(), 5);
  ASSERT_TRUE(noted("open", 5));
  auto report = drain(*server, kLong);
  ASSERT_TRUE(wait_until([&] {
    for (RawPeer& peer : peers) {
      if (!peer.pump()) peer.close();
    }
    return reported(report);
  }));
  DrainReport done = report.get();
  EXPECT_EQ(done.finished, 5u);
  EXPECT_EQ(done.forced + done.lost_bytes + done.lost_in_kernel_bytes, 0u);
  EXPECT_EQ(journal.count("close: closed here"), 5u);
  RawPeer late;
  EXPECT_NE(::connect(late.fd(), address().data(), address().size()), 0);
  EXPECT_EQ(server->stats().drained, 5u);
}

TEST_P(ServerDrainTest, message_that_is_half_here_is_still_answered) {
  auto server = serve(lines());
  RawPeer peer = connect_peer();
  peer.send("what is ");
  ASSERT_TRUE(noted("half"));
  auto report = drain(*server, kLong);
  // Other tasks run meanwhile, and the connection is not cut off.
  ask([] {});
  EXPECT_FALSE(reported(report));
  peer.send("the time?\n");
  ASSERT_TRUE(drains(peer, report));
  EXPECT_EQ(peer.received(), "what is the time?\n");
  EXPECT_EQ(report.get().finished, 1u);
}

TEST_P(ServerDrainTest, on_drain_decides_when_a_connection_is_done) {
  ConnectionHandle handle;
  auto callbacks = journal.callbacks();
  callbacks.on_drain = [&](Connection& connection) {
    journal.add("drain");
    handle = connection.handle();
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  ASSERT_TRUE(noted("open"));
  auto report = drain(*server, kLong);
  ASSERT_TRUE(noted("drain"));
  peer.send("more");
  ASSERT_TRUE(noted("message 4"));
  EXPECT_FALSE(reported(report));
  handle.send("bye");
  handle.close();
  ASSERT_TRUE(drains(peer, report));
  EXPECT_EQ(peer.received(), "bye");
  ask([&] { handle = {}; });
}

TEST_P(ServerDrainTest, deadline_cuts_off_and_counts_every_byte_that_is_lost) {
  constexpr size_t kSize = 20'000'000;
  auto server =
      serve(journal.callbacks({.on_open = [](Connection& connection) { connection.send(std::string(kSize, 'x')); }}));
  RawPeer peer = connect_peer(64 * 1024);
  ASSERT_TRUE(wait_until([&] { return loop().engine().stats().short_sends > 0; }));
  DrainReport report = server->drain_and_wait(kSoon);
  EXPECT_EQ(report.forced, 1u);
  EXPECT_EQ(report.finished, 0u);
  EXPECT_EQ(journal.count("close: still open at the deadline of the drain"), 1u);
  // Bytes that are not lost were acknowledged: they are in the peer's receive buffer, where it can still read them.
  const uint64_t lost = report.lost_bytes + report.lost_in_kernel_bytes;
  EXPECT_GT(report.lost_bytes, 0u);
  EXPECT_GT(report.lost_in_kernel_bytes, 0u);
  EXPECT_LE(lost, kSize);
  EXPECT_GE(lost, kSize - 4'000'000);
}

TEST_P(ServerDrainTest, several_loops_and_several_threads_drain_at_once) {
  auto group = LoopGroup::start(3, group_options()).value();
  Server server(*group, journal.callbacks(), group_server());
  SocketAddress bound = server.listen("127.0.0.1:0").value();
  std::vector<RawPeer> peers = RawPeer::connected_many(bound, 30);
  ASSERT_TRUE(noted("open", 30));
  for (RawPeer& peer : peers) peer.fin();
  std::vector<std::future<DrainReport>> reports;
  for (int i = 0; i < 4; ++i) {
    reports.push_back(std::async(std::launch::async, [&] { return server.drain_and_wait(kLong); }));
  }
  for (auto& report : reports) {
    DrainReport done = report.get();
    EXPECT_LE(done.finished, 30u);
    EXPECT_EQ(done.forced, 0u);
  }
  EXPECT_EQ(server.connections(), 0u);
}

TEST_P(ServerDrainTest, loop_that_stops_meanwhile_ends_the_drain) {
  auto server = serve(journal.callbacks());
  RawPeer peer = connect_peer();
  ASSERT_TRUE(noted("open"));
  auto report = drain(*server, kLong);
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.ended();
  }));
  end_loop();
  DrainReport done = report.get();
  EXPECT_EQ(done.forced, 1u);
  EXPECT_EQ(done.finished, 0u);
  EXPECT_EQ(server->drain_and_wait(kLong).finished, 0u) << "on a loop that has ended";
}

TEST_P(ServerDrainTest, server_destroyed_meanwhile_or_by_the_report) {
  std::atomic<int> told = 0;
  auto server = serve(journal.callbacks());
  RawPeer peer = connect_peer();
  ASSERT_TRUE(noted("open"));
  server->drain(kLong, [&](const DrainReport&) { ++told; });
  server.reset();
  ask([] {});
  EXPECT_EQ(told, 0);
  server = serve(journal.callbacks());
  server->drain(kLong, [&](const DrainReport&) {
    server.reset();
    ++told;
  });
  EXPECT_TRUE(wait_until([&] { return told == 1; }));
}

TEST_P(ServerDrainTest, waiting_on_the_loop_itself_is_a_programmers_error) {
  auto waits_on_its_loop = [this] {
    auto own = test::make_loop(options()).value();
    Server server(*own, {});
    own->post([&] { server.drain_and_wait(kLong); });
    (void)own->run();
  };
  EXPECT_DEATH(waits_on_its_loop(), "would wait for itself");
}

PEAL_TEST_ON_EVERY_PORT(ServerDrainTest);

}  // namespace
}  // namespace peal
