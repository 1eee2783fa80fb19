// SPDX-License-Identifier: BSD-3-Clause
// Deadlines of a connection: idle, reading too slowly, writing too slowly. The times are lower bounds only;
// connection_deadline_sim_test.cc tests what a peer must do in time.

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

constexpr Duration kShort = milliseconds(60);

class ConnectionDeadlineTest : public test::NetTest {
 protected:
  std::unique_ptr<Server> serve_with(ConnectionCallbacks callbacks, const ConnectionOptions& options) {
    return serve(std::move(callbacks), {.connection = options});
  }
  // Waits for `time`. Returns false if the connection ended meanwhile.
  bool stays_open_for(Duration time) {
    const TimePoint until = monotonic_now() + time;
    EXPECT_TRUE(wait_until([&] { return ended() || monotonic_now() >= until; }));
    return !ended();
  }
  bool ended() const { return journal.lines().size() > 0 && journal.lines().back().starts_with("close"); }

  // Returns callbacks that note opening and closing, and consume nothing before a newline has come.
  ConnectionCallbacks lines() {
    return journal.callbacks({.on_message = [](Connection&, Buffer& input) {
      if (input.view().ends_with('\n')) input.clear();
    }});
  }
};

TEST_P(ConnectionDeadlineTest, silent_connection_is_closed_and_its_peer_sees_fin) {
  TimePoint opened;
  TimePoint closed;
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) { opened = connection.loop().now(); };
  callbacks.on_close = [&](Connection& connection, CloseReason reason) {
    closed = connection.loop().now();
    journal.add(fmt::format("close: {}", to_string(reason)));
  };
  auto server = serve_with(std::move(callbacks), {.idle_timeout = kShort});
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return !peer.pump() && ended(); }));
  EXPECT_TRUE(peer.ended());
  EXPECT_EQ(journal.count("close: idle for too long"), 1u);
  EXPECT_GE(closed - opened, kShort);
  EXPECT_EQ(server->stats().idle_closes, 1u);
}

TEST_P(ConnectionDeadlineTest, peer_that_dribbles_a_message_is_cut_off) {
  // The bytes that a layer adds count too.
  auto server = serve_with(lines(), {.min_read_bytes = 1'000'000, .read_window = kShort});
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] {
    peer.try_send("x");
    return ended();
  }));
  EXPECT_EQ(journal.count("close: the peer sent too slowly"), 1u);
  EXPECT_EQ(server->stats().slow_closes, 1u);
}

TEST_P(ConnectionDeadlineTest, expected_input_that_does_not_come) {
  auto callbacks = journal.callbacks();
  callbacks.on_open = [](Connection& connection) { connection.expect_input(true); };
  callbacks.on_message = [](Connection& connection, Buffer& input) {
    input.clear();
    connection.expect_input(false);
  };
  auto server = serve_with(std::move(callbacks), {.min_read_bytes = 1, .read_window = kShort});
  RawPeer prompt = connect_peer();
  prompt.send("x");
  RawPeer mute = connect_peer();
  ASSERT_TRUE(ends(mute));
  EXPECT_EQ(mute.error(), ECONNRESET);
  EXPECT_TRUE(stays_open_for(2 * kShort) || journal.lines().size() == 1) << "the prompt one was cut off";
  EXPECT_TRUE(prompt.pump());
}

TEST_P(ConnectionDeadlineTest, time_without_receiving_does_not_count) {
  ConnectionHandle handle;
  auto callbacks = lines();
  callbacks.on_message = [&](Connection& connection, Buffer&) {
    handle = connection.handle();
    connection.pause();
  };
  auto server = serve_with(std::move(callbacks), {.min_read_bytes = 1000, .read_window = kShort});
  RawPeer peer = connect_peer();
  peer.send("x");
  EXPECT_TRUE(stays_open_for(4 * kShort));
  handle.run([](Connection& connection) { connection.resume(); });
  EXPECT_TRUE(stays_open_for(kShort / 2)) << "what was left is paused again by the callback";
  ask([&] { handle = {}; });
}

TEST_P(ConnectionDeadlineTest, peer_that_does_not_read_is_cut_off) {
  auto callbacks = journal.callbacks();
  callbacks.on_open = [](Connection& connection) { connection.send(std::string(20'000'000, 'x')); };
  auto server = serve_with(std::move(callbacks), {.write_window = kShort});
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return ended(); }));
  EXPECT_EQ(journal.count("close: the peer read too slowly"), 1u);
}

TEST_P(ConnectionDeadlineTest, peer_that_reads_slowly_but_steadily_is_not) {
  constexpr size_t kSize = 12'000'000;
  constexpr int kSlowest = 8;
  // A busy machine may delay the peer for a whole window. Then the peer reads at half the pace, in windows twice as
  // long.
  for (int pace = 1; pace <= kSlowest; pace *= 2) {
    journal.clear();
    auto callbacks = journal.callbacks();
    callbacks.on_open = [](Connection& connection) { connection.send(std::string(kSize, 'x')); };
    const Duration window = pace * 10 * kShort;
    auto server = serve_with(std::move(callbacks), {.idle_timeout = window, .write_window = window});
    RawPeer peer = connect_peer(64 * 1024);
    size_t got = 0;
    ASSERT_TRUE(wait_until([&, look = 0]() mutable {
      char room[16 * 1024];
      if (++look % pace != 0) return false;
      ssize_t count = ::recv(peer.fd(), room, sizeof room, MSG_DONTWAIT);
      if (count > 0) got += static_cast<size_t>(count);
      return got == kSize || ended();
    }));
    if (got == kSize) return;
  }
  ADD_FAILURE() << "it was cut off at every pace";
}

TEST_P(ConnectionDeadlineTest, deadlines_work_for_a_client_too) {
  auto server = serve({});
  Client client(loop(), journal.callbacks(), {.connection = {.idle_timeout = kShort}});
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return ended(); }));
  EXPECT_EQ(journal.count("close: idle for too long"), 1u);
}

TEST_P(ConnectionDeadlineTest, peer_address_is_known_in_on_close_when_remembered) {
  for (bool remember : {true, false}) {
    std::string seen;
    std::atomic<bool> done = false;
    auto callbacks = journal.callbacks();
    callbacks.on_open = [](Connection& connection) { connection.close(); };
    callbacks.on_close = [&](Connection& connection, CloseReason) {
      Result<SocketAddress> peer = connection.peer_address();
      seen = peer ? peer->to_string() : peer.error().message();
      done = true;
    };
    auto server = serve_with(std::move(callbacks), {.remember_peer = remember});
    Client client(loop(), {});
    ASSERT_TRUE(client.connect(address()));
    ASSERT_TRUE(wait_until([&] { return done.load(); }));
    EXPECT_EQ(seen.starts_with("127.0.0.1:"), remember) << seen;
  }
}

PEAL_TEST_ON_EVERY_PORT(ConnectionDeadlineTest);

}  // namespace
}  // namespace peal
