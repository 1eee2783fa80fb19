// SPDX-License-Identifier: BSD-3-Clause
// An object dies in a callback while the loop, a timer or a thread still points at it. This is the most frequent theme
// in the issue trackers of network libraries. Here the server, the client, or the object that owns a handle and a timer
// is destroyed inside each callback. The sanitizers find what goes wrong.

#include <tests/support/engines/dying_owners.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr std::string_view kCallbackNames[] = {"open", "message", "writable", "peer end", "drain", "close"};

class SomethingDies : public test::NetTest {
 protected:
  static ConnectionCallbacks calling(const test::ActInCallback& act) {
    return test::acting(act, [](Connection& connection) { connection.send(std::string(600'000, 'x')); });
  }
  // Options that make deadlines, connection limits and the flight recorder point at the connection too.
  static ServerOptions watched() {
    return {.connection = {.idle_timeout = std::chrono::seconds(10), .min_read_bytes = 1, .remember_peer = true},
            .max_connections = 10,
            .max_connections_per_address = 10};
  }
  // Provokes every callback except on_drain, and reads all that arrives, until done() is true.
  testing::AssertionResult play(RawPeer& peer, const std::function<bool()>& done) {
    peer.try_send("hello");
    return wait_until([&, sent_fin = false]() mutable {
      bool stands = peer.pump();
      if (stands && !sent_fin && peer.received().size() >= 600'000) {
        peer.fin();
        sent_fin = true;
      }
      return done();
    });
  }
};

TEST_P(SomethingDies, server_in_each_callback) {
  ask([&] { loop().enable_flight_recorder(256); });
  for (std::string_view where : kCallbackNames) {
    SCOPED_TRACE(where);
    std::unique_ptr<Server> server;
    std::atomic<bool> dead = false;
    // Runs on the loop, so that no callback is called before `server` is set.
    ask([&] {
      server = serve(calling([&](std::string_view here, Connection&) {
                       EXPECT_FALSE(dead) << here;
                       if (here != where) return;
                       server.reset();
                       dead = true;
                     }),
                     watched());
    });
    RawPeer peer = connect_peer();
    if (where == "drain") {
      peer.send("hello");
      ASSERT_TRUE(wait_until([&] {
        peer.pump();
        return peer.received().size() == 600'000;
      }));
      server->drain(std::chrono::seconds(10),
                    [](const DrainReport&) { ADD_FAILURE() << "the drain reported after the end of the server"; });
    }
    EXPECT_TRUE(play(peer, [&] { return dead.load(); }));
  }
}

TEST_P(SomethingDies, client_in_each_callback) {
  auto server = serve({.on_message = [](Connection& connection, Buffer& input) {
    connection.send(std::move(input));
    connection.close();
  }});
  for (std::string_view where : {"open", "message", "writable", "peer end", "close"}) {
    SCOPED_TRACE(where);
    std::unique_ptr<Client> client;
    std::atomic<bool> dead = false;
    auto callbacks = calling([&](std::string_view here, Connection& connection) {
      EXPECT_FALSE(dead) << here;
      if (here == "open") connection.send(std::string(600'000, 'y'));
      if (here != where) return;
      client.reset();
      dead = true;
    });
    client = std::make_unique<Client>(
        loop(), std::move(callbacks),
        ClientOptions{.retry = {.reconnect = true},
                      .connection = {.idle_timeout = std::chrono::seconds(10), .min_read_bytes = 1}});
    ASSERT_TRUE(client->connect(address()));
    EXPECT_TRUE(wait_until([&] { return dead.load(); }));
  }
}

TEST_P(SomethingDies, owner_of_a_handle_and_a_timer_in_each_callback) {
  for (std::string_view where : kCallbackNames) {
    SCOPED_TRACE(where);
    std::atomic<int> alive = 0;
    std::atomic<bool> dead = false;
    std::unique_ptr<test::TickingSession> session;
    auto server = serve(calling([&](std::string_view here, Connection& connection) {
                          if (here == "open") session = std::make_unique<test::TickingSession>(connection, alive);
                          if (here != where) return;
                          session.reset();
                          dead = true;
                        }),
                        watched());
    RawPeer peer = connect_peer();
    if (where == "drain") {
      ASSERT_TRUE(wait_until([&] { return alive == 1; }));
      server->drain(std::chrono::seconds(10), [](const DrainReport&) {});
    }
    EXPECT_TRUE(play(peer, [&] { return dead.load(); }));
    EXPECT_EQ(alive, 0);
    ask([&] { session.reset(); });
  }
}

PEAL_TEST_ON_EVERY_ENGINE(SomethingDies);

}  // namespace
}  // namespace peal
