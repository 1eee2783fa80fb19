// SPDX-License-Identifier: BSD-3-Clause
// A plain echo, send(std::move(input)), on a connection that sends no more: after shutdown_send(), after close(), or
// when the peer's reset was met in sending. What send() refused stayed in the input, was kept, counted towards the
// input limit and was shown again with all that came later. Now it is dropped.
#include <numeric>
#include <vector>

#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

// Sends nothing back, and writes down how much it was shown each time.
ConnectionCallbacks mute_echo(std::vector<size_t>& shown) {
  return {.on_open = [](Connection& connection) { connection.shutdown_send(); },
          .on_message =
              [&](Connection& connection, Buffer& input) {
                shown.push_back(input.size());
                EXPECT_FALSE(connection.send(std::move(input)));
                EXPECT_TRUE(input.empty());  // NOLINT(bugprone-use-after-move): what is tested
                EXPECT_EQ(connection.sent_bytes(), 0u);
              }};
}

class EchoOfAnEndingConnection : public test::NetTest {};

TEST_P(EchoOfAnEndingConnection, is_shown_nothing_twice) {
  std::vector<size_t> shown;
  auto server = serve(mute_echo(shown));
  RawPeer peer = connect_peer();
  for (const size_t size : {3, 20, 5}) {
    const size_t before = ask([&] { return shown.size(); });
    peer.send(std::string(size, 'x'));
    ASSERT_TRUE(wait_until([&] { return shown.size() > before; }));
  }
  EXPECT_EQ(ask([&] { return shown; }), (std::vector<size_t>{3, 20, 5}));
}

TEST_P(EchoOfAnEndingConnection, of_a_callback_that_closes_first_is_dropped) {
  std::atomic<bool> empty = false;
  auto server = serve({.on_message = [&](Connection& connection, Buffer& input) {
    connection.close();
    EXPECT_FALSE(connection.send(std::move(input)));
    empty = input.empty();  // NOLINT(bugprone-use-after-move): what is tested
  }});
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(ends(peer));
  EXPECT_TRUE(empty);
  EXPECT_EQ(peer.received(), "");
}

PEAL_TEST_ON_EVERY_ENGINE(EchoOfAnEndingConnection);

class SimEchoOfAnEndingConnection : public test::SimTest {};

TEST_F(SimEchoOfAnEndingConnection, is_shown_nothing_twice) {
  on_seeds(100, rough(), [](test::SimPair& pair) {
    std::vector<size_t> shown;
    Server server(*pair.here, mute_echo(shown));
    bool over = false;
    Client client(*pair.there, {.on_open = [](Connection& connection) { connection.send(std::string(30'000, 'x')); },
                                .on_peer_end = [](Connection& connection) { connection.shutdown_send(); },
                                .on_close = [&](Connection&, CloseReason) { over = true; }});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    ASSERT_TRUE(pair.run_until([&] { return over && server.connections() == 0; }));
    EXPECT_EQ(std::accumulate(shown.begin(), shown.end(), size_t{0}), 30'000u);
  });
}

}  // namespace
}  // namespace peal
