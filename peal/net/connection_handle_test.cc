// SPDX-License-Identifier: BSD-3-Clause
// Handles used from other threads, late, and after everything that they referred to was destroyed.
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <peal/net/connection.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class ConnectionHandleTest : public test::NetTest {
 protected:
  // Returns the handle of the server's first connection; `peer` is its client.
  ConnectionHandle open_one(RawPeer& peer, const ServerOptions& server_options = {}) {
    auto callbacks = journal.callbacks();
    callbacks.on_open = [this](Connection& connection) {
      opened = connection.handle();
      EXPECT_EQ(opened, connection.handle());
    };
    server = serve(std::move(callbacks), server_options);
    peer = connect_peer();
    EXPECT_TRUE(wait_until([&] { return static_cast<bool>(opened); }));
    return ask([&] { return std::move(opened); });
  }

  void TearDown() override {
    server.reset();
    NetTest::TearDown();
  }

  ConnectionHandle opened;
  std::unique_ptr<Server> server;
};

TEST_P(ConnectionHandleTest, calls_of_one_thread_arrive_in_order_closing_last) {
  RawPeer peer;
  ConnectionHandle handle = open_one(peer);
  std::string wanted;
  for (int i = 0; i < 10'000; ++i) {
    const std::string line = fmt::format("{}\n", i);
    wanted += line;
    if (i % 3 == 0) {
      handle.send(line);
    } else if (i % 3 == 1) {
      handle.send(Buffer(line));
    } else {
      handle.send(share_bytes(line));
    }
  }
  handle.close();
  handle.send("after the end");
  ASSERT_TRUE(ends(peer));
  EXPECT_TRUE(same_bytes(peer.received(), wanted));
  peer.close();
  EXPECT_THAT(noted_lines(1), ElementsAre("close: closed here"));
}

TEST_P(ConnectionHandleTest, ten_thousand_sends_of_four_threads_keep_each_threads_order) {
  constexpr size_t kThreads = 4;
  constexpr size_t kEach = 2500;
  RawPeer peer;
  ConnectionHandle handle = open_one(peer);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([handle, t] {
        for (size_t i = 0; i < kEach; ++i) handle.send(fmt::format("{}:{:05}\n", t, i));
      });
    }
  }
  handle.close();
  ASSERT_TRUE(ends(peer));
  constexpr size_t kLine = sizeof("0:00000");
  ASSERT_EQ(peer.received().size(), kThreads * kEach * kLine);
  std::vector<size_t> next(kThreads, 0);
  for (size_t at = 0; at < peer.received().size(); at += kLine) {
    const std::string line = peer.received().substr(at, kLine);
    auto thread = static_cast<size_t>(line[0] - '0');
    ASSERT_LT(thread, kThreads) << line;
    ASSERT_EQ(line, fmt::format("{}:{:05}\n", thread, next[thread])) << "torn or out of order";
    ++next[thread];
  }
}

TEST_P(ConnectionHandleTest, late_use_does_nothing_and_is_counted) {
  RawPeer peer;
  ConnectionHandle handle = open_one(peer);
  peer.close();
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 1; }));
  // The slot is used again: the old handle must not mean the new connection.
  RawPeer next = connect_peer();
  ASSERT_TRUE(wait_until([&] { return static_cast<bool>(opened); }));
  bool ran = false;
  handle.send("x");
  handle.close();
  handle.abort();
  handle.run([&](Connection&) { ran = true; });
  ask([&] {
    EXPECT_FALSE(ran);
    EXPECT_NE(handle, opened);
    opened.send("for the new one");
  });
  ASSERT_TRUE(wait_until([&] {
    next.pump();
    return !next.received().empty();
  }));
  EXPECT_EQ(next.received(), "for the new one");
  EXPECT_THAT(journal.lines(), ElementsAre("close: closed by the peer"));
  ask([&] { opened = {}; });
}

TEST_P(ConnectionHandleTest, empty_handle_does_nothing) {
  ConnectionHandle handle;
  EXPECT_FALSE(handle);
  EXPECT_EQ(handle, ConnectionHandle());
  handle.send("x");
  handle.send(Buffer("x"));
  handle.send(share_bytes("x"));
  handle.close();
  handle.abort();
  handle.run([](Connection&) { ADD_FAILURE(); });
}

TEST_P(ConnectionHandleTest, task_that_throws_closes_its_connection) {
  RawPeer peer;
  ConnectionHandle handle = open_one(peer);
  handle.run([](Connection&) { throw std::runtime_error("task"); });
  EXPECT_THAT(noted_lines(1), ElementsAre("close: a callback threw"));
}

TEST_P(ConnectionHandleTest, handle_outlives_its_server) {
  RawPeer peer;
  ConnectionHandle handle = open_one(peer);
  server.reset();
  handle.send("x");
  handle.run([](Connection&) { ADD_FAILURE(); });
  handle.close();
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), "");
  EXPECT_TRUE(journal.lines().empty());
}

TEST_P(ConnectionHandleTest, handle_outlives_its_loop_and_what_it_sends_is_counted_as_lost) {
  server = serve(journal.callbacks({.on_open = [this](Connection& connection) { opened = connection.handle(); }}));
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return static_cast<bool>(opened); }));
  end_loop();
  opened.send("x");
  opened.close();
  EXPECT_EQ(server->stats().lost_calls, 2u);
  EXPECT_THAT(journal.lines(), ElementsAre("close: the loop stopped"));
  server.reset();
  destroy_loop();
  opened.send("x");
  opened.run([](Connection&) { ADD_FAILURE(); });
  opened = {};
}

TEST_P(ConnectionHandleTest, refused_post_is_counted_as_lost) {
  test::LoopThread small({.engine = std::string(GetParam()), .post_limit = 4});
  test::ask(small.loop(), [] {});
  ConnectionHandle handle;
  Server own(small.loop(), {.on_open = [&](Connection& connection) { handle = connection.handle(); }});
  SocketAddress bound = own.listen("127.0.0.1:0").value();
  RawPeer peer = RawPeer::connected(bound);
  ASSERT_TRUE(test::wait_until(small.loop(), [&] { return static_cast<bool>(handle); }));
  {
    const test::Standstill standstill(small.loop());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(handle.run([](Connection& connection) { connection.send("x"); }), i < 4);
  }
  ASSERT_TRUE(test::wait_until(small.loop(), [&] {
    peer.pump();
    return peer.received().size() == 4;
  }));
  EXPECT_EQ(own.stats().lost_calls, 6u);
}

PEAL_TEST_ON_EVERY_PORT(ConnectionHandleTest);

}  // namespace
}  // namespace peal
