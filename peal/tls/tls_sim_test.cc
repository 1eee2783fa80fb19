// SPDX-License-Identifier: BSD-3-Clause
// Tests TLS in a simulated network, which cuts, delays and loses encrypted bytes as the seed decides. Random numbers
// and the clock come from the simulated world, so that a seed can be replayed.
#include <optional>
#include <string>

#include <peal/tls/tls_server_context.h>
#include <tests/support/engine_rig.h>
#include <tests/support/sim_rig.h>
#include <tests/support/tls/sim_layers.h>

namespace peal {
namespace {

// A simulated world with a client and a server. The client sends a text in pieces and ends its output. The server
// echoes the text and ends.
struct Echo {
  explicit Echo(test::SimPair& its_pair, const TlsLimits& limits = {})
      : pair(its_pair), layers(pair.seed, &pair.world, limits) {
    ServerOptions serving;
    serving.connection.layer = &layers.server();
    serving.connection.idle_timeout = std::chrono::minutes(1);
    server.emplace(*pair.here,
                   ConnectionCallbacks{
                       .on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); },
                       .on_close = [this](Connection&, CloseReason why) { server_end = why; }},
                   serving);
    ClientOptions calling;
    calling.connection.layer = &layers.client();
    calling.connection.idle_timeout = std::chrono::minutes(1);
    calling.connect.host = layers.host();
    client.emplace(*pair.there,
                   ConnectionCallbacks{.on_open =
                                           [this](Connection& connection) {
                                             resumed = connection.layer_facts()->resumed;
                                             connection.send(std::string_view(text).substr(0, text.size() / 2));
                                             connection.send(std::string_view(text).substr(text.size() / 2));
                                             connection.shutdown_send();
                                           },
                                       .on_message = test::hearing(heard),
                                       .on_close = [this](Connection&, CloseReason why) { client_end = why; }},
                   calling, [this](std::error_code error, Duration) { failed = error; });
  }
  bool run() {
    server_end = client_end = {};
    failed = {};
    heard.clear();
    client->stop();
    EXPECT_TRUE(client->connect(address));
    return pair.run_until([this] { return failed || (client_end && server_end); });
  }

  test::SimPair& pair;
  const test::SimTlsLayers layers;
  std::string text = pattern(1 + pair.seed * 977 % 100'000);
  std::string heard;
  std::optional<CloseReason> server_end, client_end;
  std::error_code failed;
  bool resumed = false;
  std::optional<Server> server;
  std::optional<Client> client;
  SocketAddress address;
};

class TlsSim : public test::SimTest {};

TEST_F(TlsSim, every_byte_arrives_however_the_network_cuts_them) {
  on_seeds(150, rough(), [](test::SimPair& pair) {
    Echo echo(pair);
    echo.address = pair.listen(*echo.server);
    ASSERT_TRUE(echo.run());
    EXPECT_FALSE(echo.failed) << echo.failed.message();
    EXPECT_TRUE(same_bytes(echo.heard, echo.text));
    EXPECT_EQ(echo.client_end, CloseReason::kPeerClosed);
    EXPECT_EQ(echo.server_end, CloseReason::kPeerClosed);
  });
}

// Any byte may be lost here. If a connection still reports that the peer closed it, the whole text must have arrived.
TEST_F(TlsSim, whatever_is_lost_is_told) {
  on_seeds(200, SimOptions::hostile(), [](test::SimPair& pair) {
    Echo echo(pair);
    echo.address = pair.listen(*echo.server);
    echo.run();
    EXPECT_TRUE(echo.text.starts_with(echo.heard));
    if (echo.client_end == CloseReason::kPeerClosed) {
      EXPECT_TRUE(same_bytes(echo.heard, echo.text));
    }
  });
}

TEST_F(TlsSim, the_same_seed_is_the_same_run) {
  const auto traced = [](uint64_t seed) {
    test::SimPair pair(seed, rough());
    Echo echo(pair);
    echo.address = pair.listen(*echo.server);
    EXPECT_TRUE(echo.run());
    return pair.world.trace_hash();
  };
  for (const uint64_t seed : {1, 2, 3, 4, 5}) EXPECT_EQ(traced(seed), traced(seed)) << seed;
  EXPECT_NE(traced(1), traced(2));
}

TEST_F(TlsSim, no_step_of_a_handshake_a_turn_counts_as_one) {
  on_seeds(1, rough(), [](test::SimPair& pair) {
    Echo echo(pair, {.handshake_steps = 0});
    echo.address = pair.listen(*echo.server);
    ASSERT_TRUE(echo.run());
    EXPECT_TRUE(same_bytes(echo.heard, echo.text));
  });
}

TEST_F(TlsSim, sessions_go_on_until_the_worlds_clock_says_that_their_key_is_gone) {
  on_seeds(3, rough(), [](test::SimPair& pair) {
    Echo echo(pair);
    echo.address = pair.listen(*echo.server);
    ASSERT_TRUE(echo.run());
    EXPECT_FALSE(echo.resumed);
    ASSERT_TRUE(echo.run());
    EXPECT_TRUE(echo.resumed);
    pair.run_for(3 * TlsServerOptions().ticket_epoch);
    ASSERT_TRUE(echo.run());
    EXPECT_FALSE(echo.resumed);
  });
}

}  // namespace
}  // namespace peal
