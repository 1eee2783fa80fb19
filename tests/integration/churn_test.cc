// SPDX-License-Identifier: BSD-3-Clause
// A server that has served many connections, or has run out of fds, must return to the state that it had before.
#include <algorithm>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

class ChurnTest : public test::NetTest {
 protected:
  struct Facts {
    size_t fds = 0;
    uint64_t blocks = 0;
    bool operator==(const Facts&) const = default;
  };
  Facts facts() {
    return ask([] { return Facts{count_open_fds(), BlockPool::here().stats().blocks_in_use}; });
  }
  // Makes a client that connects, sends, receives and leaves. `number` decides how it leaves.
  void visit(size_t number) {
    RawPeer peer = connect_peer();
    peer.send("hello");
    if (number % 4 == 0) return peer.reset();
    if (number % 4 == 1) peer.fin();
    ASSERT_TRUE(hears_all(peer, "hello")) << number;
    if (number % 4 == 2) peer.reset();
  }
};

TEST_P(ChurnTest, two_thousand_connections_leave_nothing_behind) {
  auto server = serve(test::echoing());
  auto at_rest = [&] { return server->connections() == 0; };
  for (size_t i = 0; i < 8; ++i) visit(i);
  ASSERT_TRUE(wait_until(at_rest));
  const Facts before = facts();
  std::vector<RawPeer> peers;
  for (size_t round = 0; round < 20; ++round) {
    peers.clear();
    for (size_t i = 0; i < 100; ++i) {
      peers.push_back(connect_peer());
      peers.back().send("hello");
    }
    ASSERT_TRUE(wait_until([&] {
      return std::ranges::all_of(peers, [](RawPeer& peer) {
        peer.pump();
        return peer.received() == "hello";
      });
    }));
    for (size_t i = 0; i < 100; i += 2) peers[i].reset();
  }
  peers.clear();
  ASSERT_TRUE(wait_until(at_rest));
  EXPECT_EQ(server->stats().opened, server->stats().closed);
  EXPECT_GE(server->stats().opened, 2000u);
  EXPECT_EQ(server->stats().exceptions, 0u);
  EXPECT_EQ(ask([&] { return loop().engine().stats().stale_calls; }), 0u);
  Facts after = facts();
  EXPECT_EQ(after.fds, before.fds);
  EXPECT_EQ(after.blocks, before.blocks);
}

TEST_P(ChurnTest, clients_come_and_go_on_the_servers_own_loop) {
  constexpr size_t kClients = 50;
  constexpr size_t kRounds = 20;
  auto server = serve(test::echoing());
  std::vector<std::unique_ptr<Client>> clients;
  size_t rounds_done = 0;
  for (size_t i = 0; i < kClients; ++i) {
    auto own_rounds = std::make_shared<size_t>(0);
    ConnectionCallbacks callbacks;
    callbacks.on_open = [](Connection& connection) { connection.send("ping"); };
    callbacks.on_message = [own_rounds, &rounds_done](Connection& connection, Buffer& input) {
      if (input.size() < 4) return;
      input.consume(4);
      ++rounds_done;
      // Ends the connection by an exception, because a client does not reconnect after close().
      if (++*own_rounds < kRounds) throw 0;
      connection.close();
    };
    clients.push_back(std::make_unique<Client>(
        loop(), std::move(callbacks),
        ClientOptions{
            .retry = {
                .attempts = 3, .first_delay = milliseconds(1), .longest_delay = milliseconds(2), .reconnect = true}}));
    ASSERT_TRUE(clients.back()->connect(address()));
  }
  ASSERT_TRUE(wait_until([&] { return rounds_done == kClients * kRounds && server->connections() == 0; }));
  for (auto& client : clients) {
    EXPECT_EQ(client->stats().opened, kRounds);
    EXPECT_EQ(client->stats().closed, kRounds);
    EXPECT_EQ(client->stats().exceptions, kRounds - 1);
  }
}

TEST_P(ChurnTest, server_out_of_fds_sheds_recovers_and_serves_the_others) {
  // Lowers the limit of fds before the server accepts, because the kernel may read the limit when an accept is queued.
  FdExhaustion famine;
  auto server = serve(test::echoing());
  RawPeer old = connect_peer();
  ASSERT_TRUE(wait_until([&] { return server->connections() == 1; }));
  std::vector<RawPeer> late(10);  // their sockets are open from now on
  famine.fill();
  for (RawPeer& peer : late) peer.connect(address());
  ASSERT_TRUE(wait_until([&] { return loop().engine().stats().accepts_failed > 0; }));
  old.send("still served?");
  ASSERT_TRUE(hears_all(old, "still served?"));
  famine.end();
  RawPeer next = connect_peer();
  next.send("hello");
  ASSERT_TRUE(hears_all(next, "hello"));
  next.close();
  for (RawPeer& peer : late) peer.close();
  old.close();
  ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
}

TEST_P(ChurnTest, client_out_of_fds_is_told_and_tries_again) {
  auto server = serve(test::echoing());
  std::vector<std::error_code> errors;
  bool open = false;
  Client client(loop(), {.on_open = [&](Connection&) { open = true; }},
                {.retry = {.attempts = 0, .first_delay = milliseconds(1), .longest_delay = milliseconds(2)}},
                [&](std::error_code error, Duration) { errors.push_back(error); });
  FdExhaustion famine;
  famine.fill();
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return errors.size() >= 3; }));
  EXPECT_EQ(ask([&] { return errors.front(); }), errno_code(EMFILE));
  famine.end();
  ASSERT_TRUE(wait_until([&] { return open; }));
}

PEAL_TEST_ON_EVERY_ENGINE(ChurnTest);

}  // namespace
}  // namespace peal
