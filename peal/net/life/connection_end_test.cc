// SPDX-License-Identifier: BSD-3-Clause
// No data is cut off: half-close, closing with queued output and unread input, and an end during a pause.
#include <sys/socket.h>

#include <gmock/gmock.h>

#include <peal/net/connection.h>
#include <peal/net/connection_facts.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class ConnectionEndTest : public test::NetTest {
 protected:
  void expect_all_of(const std::string& answer, RawPeer& peer) {
    ASSERT_TRUE(ends(peer));
    EXPECT_EQ(peer.error(), 0);
    EXPECT_TRUE(same_bytes(peer.received(), answer));
  }
};

TEST_P(ConnectionEndTest, client_that_half_closes_before_reading_gets_every_byte) {
  const std::string answer = pattern(20'000'000);
  auto server = serve(journal.callbacks({.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    connection.send(answer);
  }}));
  RawPeer peer = connect_peer(16'384);
  peer.send("GET");
  peer.fin();
  ASSERT_NO_FATAL_FAILURE(expect_all_of(answer, peer));
  EXPECT_THAT(noted_lines(2), ElementsAre("open", "close: closed by the peer"));
}

TEST_P(ConnectionEndTest, answer_after_the_peers_end_when_somebody_waits_for_it) {
  auto callbacks = journal.callbacks();
  std::string request;
  callbacks.on_message = test::hearing(request);
  callbacks.on_peer_end = [&](Connection& connection) {
    journal.add("peer end");
    EXPECT_TRUE(connection.is_open());
    connection.send("answer to " + request);
    connection.close();
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send("request");
  peer.fin();
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), "answer to request");
  EXPECT_THAT(noted_lines(3), ElementsAre("open", "peer end", "close: closed here"));
}

TEST_P(ConnectionEndTest, closed_when_sent_a_slow_reader_gets_every_byte) {
  const std::string answer = pattern(20'000'000);
  auto server = serve(journal.callbacks({.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    connection.send(answer);
    connection.close_when_sent();
    EXPECT_EQ(connection.facts().state, "ending");
    EXPECT_FALSE(connection.facts().peer_ended);
  }}));
  RawPeer peer = connect_peer(16'384);
  peer.send("GET");
  ASSERT_NO_FATAL_FAILURE(expect_all_of(answer, peer));
  EXPECT_THAT(noted_lines(2), ElementsAre("open", "close: closed here"));
}

TEST_P(ConnectionEndTest, close_with_output_queued_and_input_unread_delivers_everything) {
  const std::string answer = pattern(20'000'000);
  auto server = serve(journal.callbacks({.on_message = [&](Connection& connection, Buffer&) {
    connection.pause();
    connection.send(answer);
    connection.close();
  }}));
  RawPeer peer = connect_peer(16'384);
  // More than the server will read. With this unread, a plain close(2) would reset the connection.
  ASSERT_GT(peer.try_send(std::string(2'000'000, 'x')), 100'000u);
  ASSERT_TRUE(noted("open"));
  ASSERT_NO_FATAL_FAILURE(expect_all_of(answer, peer));
  peer.close();
  EXPECT_THAT(noted_lines(2), ElementsAre("open", "close: closed here"));
}

TEST_P(ConnectionEndTest, peers_end_while_paused_waits_for_resume) {
  ConnectionHandle handle;
  auto server = serve(journal.callbacks({.on_open = [&](Connection& connection) {
    handle = connection.handle();
    connection.pause();
  }}));
  RawPeer peer = connect_peer();
  peer.send("hello");
  peer.fin();
  ASSERT_TRUE(wait_until([&, turns = 0]() mutable { return static_cast<bool>(handle) && ++turns > 10; }));
  EXPECT_TRUE(journal.lines().empty());
  handle.run([](Connection& connection) { connection.resume(); });
  EXPECT_THAT(noted_lines(2), ElementsAre("message 5", "close: closed by the peer"));
  ask([&] { handle = {}; });
}

TEST_P(ConnectionEndTest, what_a_peer_sent_before_its_reset_is_shown) {
  // Receiving is paused because of output that the peer will never take. When sending fails, the peer's last bytes must
  // still be read.
  auto callbacks = journal.callbacks();
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    journal.add("message " + std::to_string(input.size()));
    input.clear();
    while (connection.can_send() && connection.queued_bytes() < 20'000'000)
      connection.send(std::string(1'000'000, 'x'));
  };
  callbacks.on_writable = [&](Connection& connection) {
    EXPECT_FALSE(connection.can_send());
    journal.add("writable");
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer(16'384);
  peer.send("question");
  ASSERT_TRUE(noted("message 8"));
  peer.send("last words");
  peer.reset();
  EXPECT_THAT(noted_lines(5), ElementsAre("open", "message 8", "writable", "message 10", "close: reset by the peer"));
}

TEST_P(ConnectionEndTest, what_a_peer_sent_before_its_reset_is_shown_by_who_reads_on) {
  // Output alone does not pause receiving, so the last bytes and the reset are read before sending fails. on_close
  // comes instead of on_writable.
  auto server = serve(journal.callbacks({.on_open = [&](Connection& connection) {
    while (connection.queued_bytes() < 20'000'000) connection.send(std::string(1'000'000, 'x'));
    journal.add("open");
  }}));
  RawPeer peer = connect_peer(16'384);
  ASSERT_TRUE(noted("open"));
  peer.send("last words");
  peer.reset();
  ASSERT_TRUE(noted("close: reset by the peer"));
  EXPECT_EQ(journal.count("message 10"), 1U);
}

TEST_P(ConnectionEndTest, output_to_a_peer_that_is_gone_kills_no_process) {
  // SIGPIPE has its default effect in this test. The first answer provokes a reset; the later ones are sent after it.
  ConnectionHandle handle;
  std::string reason;
  auto server = serve({.on_open = [&](Connection& connection) { handle = connection.handle(); },
                       .on_close = [&](Connection&, CloseReason why) { reason = to_string(why); }});
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return static_cast<bool>(handle); }));
  ask([&] { handle.run([](Connection& connection) { connection.pause(); }); });
  peer.close();
  ASSERT_TRUE(wait_until([&] {
    handle.send("into the void");
    return !reason.empty();
  }));
  EXPECT_EQ(ask([&] { return reason; }), "reset by the peer");
  ask([&] { handle = {}; });
}

TEST_P(ConnectionEndTest, reset_during_the_graceful_end_tells_so_once) {
  auto server = serve(journal.callbacks({.on_message = [](Connection& connection, Buffer&) {
    connection.send(std::string(20'000'000, 'x'));
    connection.close();
  }}));
  RawPeer peer = connect_peer();
  peer.send("go");
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return !peer.received().empty();
  }));
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 2; }));
  for (int turn = 0; turn < 3; ++turn) ask([] {});
  EXPECT_THAT(journal.lines(), ElementsAre("open", "close: reset by the peer"));
}

TEST_P(ConnectionEndTest, slow_reader_is_not_cut_off_while_it_reads) {
  // The transfer takes much longer than linger_timeout allows without progress.
  const std::string answer = pattern(8'000'000);
  auto callbacks = journal.callbacks();
  callbacks.on_open = [&](Connection& connection) {
    connection.send(answer);
    connection.close();
  };
  auto server = serve(std::move(callbacks), {.listen = {.socket = {.send_buffer_bytes = 16'384}},
                                             .connection = {.linger_timeout = std::chrono::milliseconds(250)}});
  RawPeer peer = connect_peer(16'384);
  TimePoint begin = monotonic_now();
  std::string got;
  ASSERT_TRUE(wait_until([&] {
    std::string room(40'000, '\0');
    ssize_t count = ::recv(peer.fd(), room.data(), room.size(), 0);
    if (count > 0) got.append(room, 0, static_cast<size_t>(count));
    return count == 0 || (count < 0 && errno != EAGAIN);
  }));
  EXPECT_TRUE(same_bytes(got, answer)) << "after " << (monotonic_now() - begin).count() << " ns";
}

PEAL_TEST_ON_EVERY_PORT(ConnectionEndTest);

}  // namespace
}  // namespace peal
