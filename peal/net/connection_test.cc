// SPDX-License-Identifier: BSD-3-Clause
// The life of a connection: its callbacks in order, and each way in which it can end, with one on_close and its reason.
#include <peal/net/connection.h>

#include <stdexcept>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::Journal;
using testing::ElementsAre;

class ConnectionTest : public test::NetTest {
 protected:
  testing::AssertionResult closed(size_t times = 1) {
    return wait_until([this, times] { return closes() >= times; });
  }
  size_t closes() const {
    size_t count = 0;
    for (const std::string& line : journal.lines()) count += line.starts_with("close");
    return count;
  }
  // Waits until the loop has done all its work; a second on_close would have come by then.
  void settle() {
    for (int turn = 0; turn < 3; ++turn) ask([] {});
  }
};

TEST_P(ConnectionTest, bytes_come_back_from_an_echo) {
  auto server = serve(test::echoing());
  RawPeer peer = connect_peer();
  const std::string bytes = pattern(100'000);
  peer.send(bytes.substr(0, 50'000));
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.received().size() == 50'000;
  }));
  peer.send(bytes.substr(50'000));
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.received().size() == bytes.size();
  }));
  EXPECT_TRUE(same_bytes(peer.received(), bytes));
}

TEST_P(ConnectionTest, open_message_and_close_come_in_order_and_once) {
  auto server = serve(journal.callbacks());
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(noted("message 5"));
  peer.fin();
  ASSERT_TRUE(closed());
  settle();
  EXPECT_THAT(journal.lines(), ElementsAre("open", "message 5", "close: closed by the peer"));
  EXPECT_EQ(server->connections(), 0u);
  EXPECT_EQ(server->stats().opened, 1u);
  EXPECT_EQ(server->stats().closed, 1u);
}

TEST_P(ConnectionTest, closed_here_sends_fin_and_ends_when_the_peer_does) {
  auto server = serve(journal.callbacks({.on_message = [](Connection& connection, Buffer& input) {
    connection.send(std::move(input));
    connection.close();
    connection.close();
    EXPECT_FALSE(connection.is_open());
    EXPECT_FALSE(connection.send("too late"));
  }}));
  RawPeer peer = connect_peer();
  peer.send("last words");
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.ended();
  }));
  EXPECT_EQ(peer.received(), "last words");
  EXPECT_EQ(closes(), 0u);
  peer.close();
  ASSERT_TRUE(closed());
  settle();
  EXPECT_THAT(journal.lines(), ElementsAre("open", "close: closed here"));
}

TEST_P(ConnectionTest, closed_when_sent_ends_without_the_peers_fin) {
  auto server = serve(journal.callbacks({.on_message = [](Connection& connection, Buffer& input) {
    connection.send(std::move(input));
    connection.close_when_sent();
    EXPECT_FALSE(connection.is_open());
    EXPECT_FALSE(connection.send("too late"));
  }}));
  RawPeer peer = connect_peer();
  peer.send("last words");
  ASSERT_TRUE(closed());
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), "last words");
  EXPECT_EQ(peer.error(), 0);
  settle();
  EXPECT_THAT(journal.lines(), ElementsAre("open", "close: closed here"));
}

TEST_P(ConnectionTest, abort_resets) {
  auto server = serve(journal.callbacks({.on_message = [](Connection& connection, Buffer&) { connection.abort(); }}));
  RawPeer peer = connect_peer();
  peer.send("die");
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.error(), ECONNRESET);
  ASSERT_TRUE(closed());
  settle();
  EXPECT_THAT(journal.lines(), ElementsAre("open", "close: aborted here"));
}

TEST_P(ConnectionTest, reset_by_the_peer) {
  std::error_code error;
  auto server = serve(journal.callbacks({.on_close = [&](Connection& connection, CloseReason reason) {
    error = connection.error();
    journal.add(reason == CloseReason::kReset ? "close: reset" : "close: otherwise");
  }}));
  RawPeer peer = connect_peer();
  peer.send("x");
  ASSERT_TRUE(noted("message 1"));
  peer.reset();
  ASSERT_TRUE(closed());
  settle();
  EXPECT_THAT(journal.lines(), ElementsAre("open", "message 1", "close: reset"));
  EXPECT_EQ(ask([&] { return error; }), errno_code(ECONNRESET));
}

TEST_P(ConnectionTest, exception_in_any_callback_closes_that_connection_only) {
  for (std::string thrower : {"on_open", "on_message", "on_writable", "on_peer_end", "on_close"}) {
    SCOPED_TRACE(thrower);
    Journal other;
    Journal log;
    auto callbacks = other.callbacks();
    std::string at;  // which callback throws, for connections opened from now on
    callbacks.on_open = [&](Connection& connection) {
      connection.emplace_context<std::string>(at);
      if (at == "on_open") throw std::runtime_error("on_open");
    };
    callbacks.on_message = [&](Connection& connection, Buffer& input) {
      const std::string& who = connection.context<std::string>();
      if (who == "on_message") throw 42;
      if (who == "on_writable") connection.send(std::string(400'000, 'x'));
      input.clear();
    };
    callbacks.on_writable = [&](Connection&) { throw std::runtime_error("on_writable"); };
    callbacks.on_peer_end = [&](Connection& connection) {
      if (connection.context<std::string>() == "on_peer_end") throw std::runtime_error("on_peer_end");
      connection.close();
    };
    callbacks.on_close = [&](Connection& connection, CloseReason reason) {
      if (connection.context<std::string>().empty()) return other.add("close");
      log.add(std::string(to_string(reason)));
      if (thrower == "on_close") throw std::runtime_error("on_close");
    };
    auto server = serve(std::move(callbacks));
    RawPeer bystander = connect_peer();
    bystander.send("x");
    ASSERT_TRUE(wait_until([&] { return server->connections() == 1 && server->stats().opened == 1; }));
    ask([&] { at = thrower; });
    RawPeer peer = connect_peer();
    peer.send("y");
    if (thrower == "on_peer_end" || thrower == "on_close") peer.fin();
    ASSERT_TRUE(wait_until([&] {
      peer.pump();
      return log.lines().size() == 1;
    }));
    peer.close();
    settle();
    EXPECT_THAT(log.lines(), ElementsAre(thrower == "on_close" ? "closed here" : "a callback threw"));
    EXPECT_EQ(server->stats().exceptions, 1u);
    EXPECT_EQ(server->connections(), 1u);
    EXPECT_EQ(other.count("close"), 0u);
    server.reset();
  }
}

TEST_P(ConnectionTest, loop_that_ends_tells_every_connection) {
  auto server = serve(journal.callbacks());
  RawPeer one = connect_peer();
  RawPeer two = connect_peer();
  ASSERT_TRUE(noted("open", 2));
  end_loop();
  EXPECT_THAT(journal.lines(), ElementsAre("open", "open", "close: the loop stopped", "close: the loop stopped"));
}

TEST_P(ConnectionTest, peer_that_never_reads_is_cut_off_by_the_write_window) {
  auto callbacks = journal.callbacks();
  callbacks.on_open = [](Connection& connection) {
    connection.send(std::string(20'000'000, 'x'));
    connection.close();
  };
  auto server = serve(std::move(callbacks),
                      {.connection = {.linger_timeout = milliseconds(20), .write_window = milliseconds(50)}});
  RawPeer peer = connect_peer(4096);
  ASSERT_TRUE(closed());
  settle();
  EXPECT_THAT(journal.lines(), ElementsAre("close: the peer read too slowly"));
}

TEST_P(ConnectionTest, peer_that_never_closes_is_cut_off_by_the_linger_timeout) {
  auto callbacks = journal.callbacks();
  callbacks.on_open = [](Connection& connection) { connection.close(); };
  auto server = serve(std::move(callbacks), {.connection = {.linger_timeout = milliseconds(20)}});
  RawPeer peer = connect_peer();
  ASSERT_TRUE(closed());
  settle();
  EXPECT_THAT(journal.lines(), ElementsAre("close: the peer did not end in time"));
}

TEST_P(ConnectionTest, peer_that_only_talks_does_not_hold_a_closing_connection) {
  auto callbacks = journal.callbacks();
  callbacks.on_message = [](Connection& connection, Buffer&) { connection.close(); };
  auto server = serve(std::move(callbacks), {.connection = {.linger_timeout = milliseconds(20)}});
  RawPeer peer = connect_peer();
  const std::string chatter(1000, 'x');
  ASSERT_TRUE(wait_until([&] {
    peer.try_send(chatter);
    return closes() == 1;
  }));
  EXPECT_EQ(journal.lines().back(), "close: the peer did not end in time");
}

TEST_P(ConnectionTest, context_dies_after_on_close) {
  struct Context {
    explicit Context(Journal& j) : journal(j) {}
    ~Context() { journal.add("context died"); }
    Journal& journal;
  };
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) { connection.emplace_context<Context>(journal); };
  callbacks.on_close = [&](Connection& connection, CloseReason) {
    EXPECT_EQ(&connection.context<Context>().journal, &journal);
    journal.add("close");
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.close();
  EXPECT_THAT(noted_lines(2), ElementsAre("close", "context died"));
}

TEST_P(ConnectionTest, addresses_and_options_while_open_and_errors_after) {
  auto server = serve(journal.callbacks({.on_open = [&](Connection& connection) {
    journal.add(connection.local_address().value().to_string());
    journal.add(connection.peer_address().value().to_string());
    EXPECT_TRUE(connection.set_option(SocketOption::kNoDelay, 0));
    EXPECT_TRUE(connection.set_option(SocketOption::kKeepAlive, 1));
    EXPECT_EQ(&connection.loop(), &loop());
    connection.abort();
    EXPECT_FALSE(connection.local_address());
    EXPECT_FALSE(connection.peer_address());
    EXPECT_FALSE(connection.set_option(SocketOption::kNoDelay, 1));
  }}));
  RawPeer peer = connect_peer();
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ASSERT_EQ(::getsockname(peer.fd(), reinterpret_cast<sockaddr*>(&storage), &size), 0);
  auto own = SocketAddress::from_kernel(reinterpret_cast<sockaddr*>(&storage), size);
  ASSERT_TRUE(closed());
  EXPECT_THAT(journal.lines(), ElementsAre(address().to_string(), own.to_string(), "close: aborted here"));
}

TEST_P(ConnectionTest, bytes_are_counted) {
  auto server = serve(journal.callbacks({.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    connection.send("four");
    connection.send(Buffer("sixsix"));
    connection.send(share_bytes("ten bytes!"));
    EXPECT_EQ(connection.received_bytes(), 5u);
    EXPECT_EQ(connection.sent_bytes(), 20u);
    EXPECT_EQ(connection.queued_bytes(), 20u);
  }}));
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.received().size() == 20;
  }));
  EXPECT_EQ(peer.received(), "foursixsixten bytes!");
}

TEST_P(ConnectionTest, two_connections_that_close_each_other) {
  std::vector<ConnectionHandle> handles;
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) { handles.push_back(connection.handle()); };
  callbacks.on_message = [&](Connection&, Buffer&) {
    for (auto& handle : handles) handle.abort();
  };
  callbacks.on_close = [&](Connection&, CloseReason) {
    for (auto& handle : handles) handle.close();
    journal.add("close");
  };
  auto server = serve(std::move(callbacks));
  RawPeer one = connect_peer();
  RawPeer two = connect_peer();
  ASSERT_TRUE(wait_until([&] { return handles.size() == 2; }));
  ask([&] {
    one.send("x");
    two.send("x");
  });
  ASSERT_TRUE(closed(2));
  settle();
  EXPECT_EQ(closes(), 2u);
  EXPECT_GE(server->stats().late_calls, 2u);
  ask([&] { handles.clear(); });
}

PEAL_TEST_ON_EVERY_PORT(ConnectionTest);

}  // namespace
}  // namespace peal
