// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, receiving: what arrives, when it is delivered, and how it ends. Both ends are streams of
// the engine.

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class EngineReceive : public EngineTest {
 protected:
  // Returns a stream whose peer has sent `words` and then reset the connection. Nothing has been received yet.
  StreamLog& whose_peer_resets_after(std::string_view words) {
    auto [client, server] = rig().pair();
    client.send(words);
    EXPECT_TRUE(rig().run_beside([&] { return client.queued() == 0; }));
    client.close(CloseHow::kReset);
    EXPECT_TRUE(rig().run_until([&] { return client.closed; }));
    rig().settle();
    return server;
  }
};
PEAL_SUITE_ON_EVERY_LAYER(EngineReceive);

TEST_P(EngineReceive, echo) {
  auto [client, server] = rig().pair();
  server.receive();
  client.receive();
  server.when_received = [&] { server.send(server.received); };
  client.send("ding dong");
  ASSERT_TRUE(rig().run_until([&] { return client.received.size() == 9; }));
  EXPECT_EQ(client.received, "ding dong");
  EXPECT_EQ(server.received, "ding dong");
  EXPECT_EQ(rig().stats().accepts, 1U);
  EXPECT_EQ(rig().stats().received_bytes, 18U);
  EXPECT_EQ(rig().stats().sent_bytes, 18U);
  EXPECT_EQ(rig().stats().stale_calls, 0U);
}

TEST_P(EngineReceive, nothing_comes_until_it_is_asked_for) {
  auto [client, server] = rig().pair();
  client.send("patience");
  rig().settle();
  EXPECT_EQ(server.receive_count, 0U);
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.received.size() == 8; }));
  EXPECT_EQ(server.received, "patience");
}

TEST_P(EngineReceive, pause_keeps_bytes_and_resume_delivers_them_in_order) {
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(3'000'000);
  server.when_received = [&] { server.receive(false); };
  server.receive();
  client.send_blocks(Buffer(bytes));
  // The sink fails the test if bytes come while receiving is off. Each time receiving is switched on, bytes must come
  // without any action of the client.
  while (server.received.size() < bytes.size()) {
    size_t before = server.receive_count;
    ASSERT_TRUE(rig().run_until([&] { return server.receive_count > before; }));
    if (before < 5) rig().settle();
    server.receive(true);
  }
  EXPECT_TRUE(same_bytes(server.received, bytes));
}

TEST_P(EngineReceive, paused_at_once_after_being_asked) {
  auto [client, server] = rig().pair();
  client.send("early");
  rig().settle();
  server.receive(true);
  server.receive(false);
  rig().settle();
  EXPECT_EQ(server.receive_count, 0U);
  server.receive(true);
  server.receive(true);
  ASSERT_TRUE(rig().run_until([&] { return server.received == "early"; }));
}

TEST_P(EngineReceive, paused_and_resumed_in_one_callback) {
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(500'000);
  server.when_received = [&] {
    server.receive(false);
    server.receive(true);
  };
  server.receive();
  client.send_blocks(Buffer(bytes));
  ASSERT_TRUE(rig().run_until([&] { return server.received.size() == bytes.size(); }));
  EXPECT_TRUE(same_bytes(server.received, bytes));
}

TEST_P(EngineReceive, fin_while_paused_is_delivered_after_resume) {
  auto [client, server] = rig().pair();
  server.receive();
  server.when_received = [&] { server.receive(false); };
  client.send("first");
  ASSERT_TRUE(rig().run_until([&] { return server.received == "first"; }));
  client.send("last");
  client.shutdown_send();
  rig().settle();
  EXPECT_FALSE(server.ended);
  server.when_received = {};
  server.receive(true);
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_EQ(server.received, "firstlast");
  EXPECT_FALSE(server.end_error) << server.end_error.message();
}

TEST_P(EngineReceive, data_and_fin_arriving_together) {
  // Sizes around that of a block and a turn's budget, where it is easy to mistake a full read for a short one.
  for (size_t size : {1U, kLargeBlockBytes - 1, kLargeBlockBytes, kLargeBlockBytes + 1, 2 * kLargeBlockBytes,
                      5 * kLargeBlockBytes, 256U * 1024, 256U * 1024 + 1}) {
    auto [client, server] = rig().pair();
    const std::string bytes = pattern(size);
    client.send_blocks(Buffer(bytes));
    client.shutdown_send();
    if (size <= kLargeBlockBytes) rig().settle();
    server.receive();
    ASSERT_TRUE(rig().run_until([&] { return server.ended; })) << size;
    EXPECT_FALSE(server.end_error) << server.end_error.message();
    EXPECT_TRUE(same_bytes(server.received, bytes));
  }
}

TEST_P(EngineReceive, fin_after_a_short_read_is_not_missed) {
  auto [client, server] = rig().pair();
  server.receive();
  client.send("abc");
  ASSERT_TRUE(rig().run_until([&] { return server.received == "abc"; }));
  client.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_FALSE(server.end_error);
}

TEST_P(EngineReceive, end_is_reported_once_however_often_it_is_asked) {
  auto [client, server] = rig().pair();
  server.receive();
  client.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  server.receive(false);
  server.receive(true);
  rig().settle();  // The sink fails the test if a second end is reported.
  server.send("still talking");
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return client.received == "still talking"; }));
}

TEST_P(EngineReceive, client_sends_fin_before_reading_a_big_answer) {
  auto [client, server] = rig().pair();
  const std::string answer = pattern(20'000'000);
  server.receive();
  server.when_ended = [&] {
    server.send_blocks(Buffer(answer));
    server.shutdown_send();
  };
  client.send("GET it all");
  client.shutdown_send();
  rig().settle();
  EXPECT_TRUE(server.ended);
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_FALSE(client.end_error) << client.end_error.message();
  EXPECT_TRUE(same_bytes(client.received, answer));
}

TEST_P(EngineReceive, server_sends_fin_first_and_still_gets_every_byte) {
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(2'000'000);
  server.shutdown_send();
  server.receive();
  client.receive();
  client.when_ended = [&] {
    client.send_blocks(Buffer(bytes));
    client.shutdown_send();
  };
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_TRUE(same_bytes(server.received, bytes));
}

TEST_P(EngineReceive, peer_resets) {
  auto [client, server] = rig().pair();
  server.receive();
  client.close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_EQ(server.end_error, std::errc::connection_reset);
}

TEST_P(EngineReceive, data_sent_before_a_reset_is_still_delivered) {
  StreamLog& server = whose_peer_resets_after("last words");
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_EQ(server.received, "last words");
  EXPECT_EQ(server.end_error, std::errc::connection_reset);
}

TEST_P(EngineReceive, send_to_a_peer_that_reset_fails_once_and_raises_no_signal) {
  StreamLog& server = whose_peer_resets_after("last words");
  server.send("are you there?");
  ASSERT_TRUE(rig().run_until([&] { return server.send_failures > 0; }));
  EXPECT_TRUE(server.send_error == std::errc::broken_pipe || server.send_error == std::errc::connection_reset)
      << server.send_error.message();
  server.send("are you?");
  server.send_blocks(Buffer("really?"));
  EXPECT_EQ(server.queued(), 0U);
  rig().settle();  // The sink fails the test if a second failure is reported.
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_EQ(server.received, "last words");
}

TEST_P(EngineReceive, peer_closes_while_we_send_for_ever) {
  auto [client, server] = rig().pair();
  client.receive();
  client.when_received = [&] { client.close(); };
  server.send_blocks(Buffer(pattern(30'000'000)));
  server.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return server.send_failures > 0 && client.closed; }));
  EXPECT_EQ(server.queued(), 0U);
}

TEST_P(EngineReceive, one_firehose_does_not_starve_another_stream) {
  auto [hose, flooded] = rig().pair();
  auto [client, server] = rig().pair();
  flooded.receive();
  server.receive();
  client.receive();
  auto refill = [&hose] {
    if (hose.queued() < 1'000'000) hose.send_blocks(Buffer(std::string(4'000'000, 'x')));
  };
  // The pings must come back after a limited number of waits, although the other stream always has more to send.
  server.when_received = [&] { server.send("pong"); };
  for (int round = 1; round <= 20; ++round) {
    client.send("ping");
    for (int trip = 0; trip < 12 && client.received.size() < 4U * round; ++trip) {
      refill();
      size_t before = flooded.received.size();
      rig().wait(rig().engine().now() + std::chrono::seconds(1));
      EXPECT_LE(flooded.received.size() - before, 16'000'000U) << "one turn took it all";
      flooded.received.clear();
    }
    ASSERT_EQ(client.received.size(), 4U * round) << rig().story();
  }
  EXPECT_GT(flooded.receive_count, 0U);
}

}  // namespace
}  // namespace peal
