// SPDX-License-Identifier: BSD-3-Clause
// A plain echo called send(std::move(input)) on a connection that could send no more: after shutdown_send(), after
// close(), or after sending had met the peer's reset. The input that send() refused stayed in `input`. So the
// connection kept it, counted it towards the input limit, and showed it again together with all later input. Now send()
// drops what it refuses.
#include <numeric>
#include <vector>

#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

// An echo whose output is refused, because it calls shutdown_send() at once. It stores in `shown` how many bytes each
// on_message showed.
ConnectionCallbacks mute_echo(std::vector<size_t>& shown) {
  return {.on_open = [](Connection& connection) { connection.shutdown_send(); },
          .on_message =
              [&](Connection& connection, Buffer& input) {
                shown.push_back(input.size());
                EXPECT_FALSE(connection.send(std::move(input)));
                EXPECT_TRUE(input.empty());  // NOLINT(bugprone-use-after-move): this is tested
                EXPECT_EQ(connection.sent_bytes(), 0u);
              }};
}

class EchoOfAnEndingConnection : public test::NetTest {};

TEST_P(EchoOfAnEndingConnection, is_never_shown_the_same_input_twice) {
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

TEST_P(EchoOfAnEndingConnection, is_dropped_if_the_callback_closed_first) {
  std::atomic<bool> empty = false;
  auto server = serve({.on_message = [&](Connection& connection, Buffer& input) {
    connection.close();
    EXPECT_FALSE(connection.send(std::move(input)));
    empty = input.empty();  // NOLINT(bugprone-use-after-move): this is tested
  }});
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(ends(peer));
  EXPECT_TRUE(empty);
  EXPECT_EQ(peer.received(), "");
}

PEAL_TEST_ON_EVERY_ENGINE(EchoOfAnEndingConnection);

class SimEchoOfAnEndingConnection : public test::SimTest {};

TEST_F(SimEchoOfAnEndingConnection, is_never_shown_the_same_input_twice) {
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
