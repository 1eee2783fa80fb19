// SPDX-License-Identifier: BSD-3-Clause
// Connections of a port that needs a handshake before they are open: their deadline, their place in the caps, and how a
// drain treats them. The peers are sockets that send the byte of a SealedPort's handshake when the test says so.
#include <string>

#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealing.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kNotInThisTest = seconds(100);

class HandshakeTest : public test::NetTest {
 protected:
  std::unique_ptr<Server> serve_over_layer(ServerOptions options = {}, ConnectionCallbacks callbacks = {}) {
    options.connection.layer = &layer;
    if (!callbacks.on_open) callbacks = journal.callbacks();
    return serve(std::move(callbacks), options);
  }
  RawPeer silent_peer() { return connect_peer(); }
  // True when the kernel has accepted so many connections and the server has them.
  testing::AssertionResult has_connections(Server& server, size_t count) {
    return wait_until([&server, count] { return server.connections() == count; });
  }
  static void shake_hands(RawPeer& peer) { peer.send(test::kSealHello); }

  const test::SealedLayer layer;
};

TEST_P(HandshakeTest, opens_when_it_is_done) {
  auto server = serve_over_layer();
  RawPeer peer = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  EXPECT_EQ(journal.count("open"), 0u);
  EXPECT_EQ(server->stats().opened, 0u);
  shake_hands(peer);
  ASSERT_TRUE(noted("open"));
  peer.send(test::sealed_text("hello"));
  ASSERT_TRUE(noted("message 5"));
  EXPECT_EQ(server->stats().opened, 1u);
  EXPECT_EQ(server->stats().handshakes_failed, 0u);
}

TEST_P(HandshakeTest, what_follows_it_at_once_is_not_lost) {
  auto server = serve_over_layer();
  RawPeer peer = silent_peer();
  peer.send(std::string(test::kSealHello) + test::sealed_text("hello") + std::string(test::kEndMark));
  ASSERT_TRUE(noted("close: closed by the peer"));
  EXPECT_EQ(journal.lines(), (std::vector<std::string>{"open", "message 5", "close: closed by the peer"}));
}

TEST_P(HandshakeTest, has_its_deadline) {
  auto server = serve_over_layer({.connection = {.handshake_timeout = milliseconds(20)}});
  RawPeer peer = silent_peer();
  EXPECT_TRUE(ends(peer));
  ASSERT_TRUE(has_connections(*server, 0));
  EXPECT_EQ(server->stats().handshakes_failed, 1u);
  EXPECT_EQ(journal.lines(), std::vector<std::string>{});
}

TEST_P(HandshakeTest, done_in_time_its_deadline_is_over) {
  // On a busy machine the handshake may miss the deadline; then the test tries again with a longer one.
  milliseconds timeout(10);
  std::unique_ptr<Server> server;
  RawPeer peer;
  do {
    timeout *= 2;
    server = serve_over_layer({.connection = {.handshake_timeout = timeout}});
    peer = silent_peer();
    shake_hands(peer);
    ASSERT_TRUE(wait_until([&] { return journal.count("open") == 1 || server->stats().handshakes_failed == 1; }));
  } while (journal.count("open") == 0);
  bool over = false;
  ask([&] { loop().after(2 * timeout, [&] { over = true; }); });
  ASSERT_TRUE(wait_until([&] { return over; }));
  peer.send(test::sealed_text("late"));
  ASSERT_TRUE(noted("message 4"));
  EXPECT_EQ(server->stats().handshakes_failed, 0u);
}

TEST_P(HandshakeTest, that_fails_is_no_connection) {
  auto server = serve_over_layer();
  RawPeer speaks_otherwise = silent_peer();
  speaks_otherwise.send("GET / HTTP/1.1\r\n\r\n");
  RawPeer leaves = silent_peer();
  leaves.fin();
  RawPeer resets = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  resets.reset();
  EXPECT_TRUE(ends(speaks_otherwise));
  EXPECT_TRUE(ends(leaves));
  ASSERT_TRUE(has_connections(*server, 0));
  EXPECT_EQ(server->stats().handshakes_failed, 3u);
  EXPECT_EQ(journal.lines(), std::vector<std::string>{});
}

TEST_P(HandshakeTest, peer_that_speaks_in_the_clear_is_answered_so) {
  auto server = serve_over_layer({.connection = {.clear_answer = "sealed words only\n"}});
  RawPeer peer = silent_peer();
  peer.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), std::string(test::kSealHello) + "sealed words only\n");
  EXPECT_EQ(peer.error(), 0);
  EXPECT_EQ(server->stats().handshakes_failed, 1u);
  RawPeer leaves = silent_peer();  // ends without having sent anything
  leaves.fin();
  EXPECT_TRUE(ends(leaves));
  EXPECT_EQ(leaves.received(), test::kSealHello);
  EXPECT_EQ(journal.lines(), std::vector<std::string>{});
}

// The client reports its own error: an errno, one of peal's, or one of the layer's own.
TEST_P(HandshakeTest, of_a_client_fails_with_its_own_error) {
  std::string answer;
  auto server = serve({.on_open = [&](Connection& connection) {
    connection.send(answer);
    if (answer.empty()) {
      connection.abort();
    } else {
      connection.close();
    }
  }});
  ClientOptions options;
  options.connection.layer = &layer;
  auto error_of_client = [&](std::string_view text) {
    std::error_code failed;
    answer = text;
    Client client(loop(), journal.callbacks(), options, [&](std::error_code error, Duration) { failed = error; });
    EXPECT_TRUE(client.connect(address()));
    EXPECT_TRUE(wait_until([&] { return static_cast<bool>(failed); }));
    EXPECT_EQ(client.stats().connect_failed, 1u);
    return failed;
  };
  EXPECT_EQ(error_of_client("220 welcome"), test::no_seal_hello());
  EXPECT_EQ(error_of_client(""), errno_code(ECONNRESET));
  auto silent = serve({.on_open = [](Connection& connection) { connection.close(); }});
  EXPECT_EQ(error_of_client("nothing"), make_error_code(Trouble::kTruncated));
  EXPECT_EQ(journal.lines(), std::vector<std::string>{});
}

TEST_P(HandshakeTest, of_a_client_is_part_of_its_connecting) {
  auto server = serve({});  // this server sends nothing
  test::Journal told;
  ClientOptions options{.connect_timeout = milliseconds(30), .connection = {.layer = &layer}};
  Client client(loop(), told.callbacks(), options,
                [&](std::error_code error, Duration) { told.add("failed: " + error.message()); });
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return !told.lines().empty(); }));
  EXPECT_EQ(told.lines(), std::vector{"failed: " + errno_code(ETIMEDOUT).message()});
}

TEST_P(HandshakeTest, half_done_keeps_no_honest_client_out) {
  auto server = serve_over_layer({.connection = {.handshake_timeout = kNotInThisTest}, .max_connections = 2});
  RawPeer first = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  RawPeer second = silent_peer();
  ASSERT_TRUE(has_connections(*server, 2));
  RawPeer honest = silent_peer();
  shake_hands(honest);
  ASSERT_TRUE(noted("open"));
  EXPECT_TRUE(ends(first)) << "the oldest goes";
  EXPECT_TRUE(second.pump());
  EXPECT_EQ(server->connections(), 2u);
  EXPECT_EQ(server->stats().refused, 1u);
  EXPECT_EQ(server->stats().evicted, 0u);
}

TEST_P(HandshakeTest, half_done_counts_for_its_address) {
  auto server =
      serve_over_layer({.connection = {.handshake_timeout = kNotInThisTest}, .max_connections_per_address = 1});
  RawPeer first = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  RawPeer honest = silent_peer();
  shake_hands(honest);
  ASSERT_TRUE(noted("open"));
  EXPECT_TRUE(ends(first));
  EXPECT_EQ(server->connections(), 1u);
}

// The newcomer waits for two events, in either order: for the place of the evicted connection, and for its own
// handshake.
TEST_P(HandshakeTest, newcomer_waits_for_its_seat_too) {
  int now = 0;
  int most = 0;
  ConnectionCallbacks counting{.on_open =
                                   [&](Connection&) {
                                     journal.add("open");
                                     most = std::max(most, ++now);
                                   },
                               .on_close = [&](Connection&, CloseReason) { --now; }};
  auto server = serve_over_layer({.max_connections = 1}, std::move(counting));
  std::deque<RawPeer> peers;
  for (size_t i = 0; i < 20; ++i) {
    peers.push_back(silent_peer());
    if (i % 2 == 0) {
      ASSERT_TRUE(wait_until([&] { return server->connections() == 1; }));
    }
    shake_hands(peers.back());
    ASSERT_TRUE(noted("open", i + 1));
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(server->stats().evicted, 19u);
}

// The place belongs to the evicted connection until its on_close, even if the newcomer that was to have it has ended.
TEST_P(HandshakeTest, newcomer_that_fails_first_frees_no_place) {
  test::SealedPort::LateEnds late_ends;
  const test::SealedLayer late_layer(&late_ends);
  for (const bool per_address : {false, true}) {
    test::Journal told;
    ServerOptions options;
    (per_address ? options.max_connections_per_address : options.max_connections) = 1;
    options.connection.layer = &late_layer;
    auto server = serve(told.callbacks(), options);
    RawPeer first = silent_peer();
    shake_hands(first);
    ASSERT_TRUE(wait_until([&] { return told.count("open") == 1; }));
    ask([&] { late_ends.held = true; });
    RawPeer fails = silent_peer();
    fails.send("no handshake");
    // on_close is called for the newcomer that failed; the evicted connection has not ended yet.
    ASSERT_TRUE(wait_until([&] { return late_ends.waiting.size() == 1 && server->connections() == 1; }));
    EXPECT_EQ(server->stats().handshakes_failed, 1u);
    RawPeer third = silent_peer();
    shake_hands(third);
    EXPECT_TRUE(ends(third)) << "let in while the first is not closed";
    EXPECT_EQ(told.lines(), std::vector<std::string>{"open"});
    ask([&] { late_ends.release(); });
    RawPeer fourth = silent_peer();
    shake_hands(fourth);
    EXPECT_TRUE(wait_until([&] { return told.count("open") == 2; })) << "the place is lost";
  }
  end_loop();  // the last streams close on the loop and use late_ends then
}

TEST_P(HandshakeTest, drain_waits_for_it_and_then_asks) {
  auto server = serve_over_layer({.connection = {.handshake_timeout = kNotInThisTest}});
  RawPeer peer = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  std::optional<DrainReport> report;
  server->drain(kNotInThisTest, [&](const DrainReport& done) { report = done; });
  for (int turn = 0; turn < 10; ++turn) ask([] {});
  EXPECT_TRUE(peer.pump()) << "the drain cut off who shook hands";
  shake_hands(peer);
  ASSERT_TRUE(ends(peer));
  peer.send(test::kEndMark);
  peer.fin();
  ASSERT_TRUE(wait_until([&] { return report.has_value(); }));
  EXPECT_EQ(report->finished, 1u);
  EXPECT_EQ(report->forced, 0u);
  EXPECT_EQ(journal.count("open"), 1u);
  EXPECT_EQ(journal.count("close: closed here"), 1u);
}

TEST_P(HandshakeTest, drain_leaves_it_its_own_deadline_and_no_more) {
  // On a busy machine the deadline may pass before the drain begins; then the test tries again with a longer one.
  for (milliseconds timeout(20);; timeout *= 2) {
    auto server = serve_over_layer({.connection = {.handshake_timeout = timeout}});
    RawPeer peer = silent_peer();
    ASSERT_TRUE(wait_until([&] { return server->connections() == 1 || server->stats().handshakes_failed == 1; }));
    const DrainReport report = server->drain_and_wait(kNotInThisTest);
    EXPECT_TRUE(ends(peer));
    EXPECT_EQ(report.forced, 0u);
    EXPECT_EQ(server->stats().handshakes_failed, 1u);
    if (report.finished == 1) break;  // the connection ended by itself, and the drain waited for it
    ASSERT_LT(timeout, seconds(10)) << "no drain has waited for it";
  }
}

TEST_P(HandshakeTest, drain_ends_it_at_its_deadline) {
  auto server = serve_over_layer({.connection = {.handshake_timeout = kNotInThisTest}});
  RawPeer peer = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  const DrainReport report = server->drain_and_wait(milliseconds(20));
  EXPECT_TRUE(ends(peer));
  EXPECT_EQ(report.finished, 0u);
  EXPECT_EQ(report.forced, 1u);
  EXPECT_EQ(journal.lines(), std::vector<std::string>{});
}

// A connection that is asked to end while it shakes hands ends at once, as one does that is only connecting. The
// inspector does that.
TEST_P(HandshakeTest, one_that_is_asked_to_end_alone_ends) {
  auto server = serve_over_layer({.connection = {.handshake_timeout = kNotInThisTest}});
  RawPeer peer = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  ask([&] {
    ConnectionsView view = server->views().front();
    const std::vector<ConnectionFacts> all = view.list(1);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].state, "handshaking");
    EXPECT_TRUE(view.end(all[0].slot, all[0].generation, EndHow::kDrain));
  });
  EXPECT_TRUE(ends(peer));
}

TEST_P(HandshakeTest, peer_is_remembered_that_resets_right_behind_it) {
  std::string peer_address;
  auto server = serve_over_layer({.connection = {.remember_peer = true}},
                                 {.on_open = [](Connection&) {},
                                  .on_close =
                                      [&](Connection& connection, CloseReason) {
                                        const Result<SocketAddress> peer = connection.peer_address();
                                        peer_address = peer ? peer->to_string() : peer.error().message();
                                      }});
  RawPeer peer = silent_peer();
  ASSERT_TRUE(has_connections(*server, 1));
  // In one turn: the connection opens after the peer has ended.
  ask([&] {
    shake_hands(peer);
    peer.reset();
  });
  ASSERT_TRUE(wait_until([&] { return !peer_address.empty() || server->connections() == 0; }));
  if (!peer_address.empty()) {
    EXPECT_TRUE(peer_address.starts_with("127.0.0.1:")) << peer_address;
  }
}

TEST_P(HandshakeTest, server_and_loop_may_end_meanwhile) {
  for (const bool loop_first : {false, true}) {
    auto server = serve_over_layer({.connection = {.handshake_timeout = kNotInThisTest}});
    std::vector<RawPeer> peers = RawPeer::connected_many(address(), 4);
    ASSERT_TRUE(has_connections(*server, 4));
    if (loop_first) end_loop();
    server.reset();
    if (loop_first) continue;
    for (RawPeer& peer : peers) EXPECT_TRUE(ends(peer));
  }
  EXPECT_EQ(journal.lines(), std::vector<std::string>{});
}

PEAL_TEST_ON_EVERY_ENGINE(HandshakeTest);

}  // namespace
}  // namespace peal
