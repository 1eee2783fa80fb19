// SPDX-License-Identifier: BSD-3-Clause
// A full server: which connection is evicted, which newcomer is refused, and that the cap is never exceeded.
#include <arpa/inet.h>

#include <atomic>
#include <deque>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

// Counts open connections by their callbacks, and the most at any time.
struct Census {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::atomic<int> total = 0;

  void enter() {
    ++total;
    int count = ++now;
    int seen = most;
    while (count > seen && !most.compare_exchange_weak(seen, count)) {
    }
  }
};

class ServerCapsTest : public test::NetTest {
 protected:
  // Returns callbacks that echo, but keep a message that does not end in a newline.
  ConnectionCallbacks counting() {
    return {.on_open = [this](Connection&) { census.enter(); },
            .on_message =
                [](Connection& connection, Buffer& input) {
                  if (input.view().ends_with('\n')) connection.send(std::move(input));
                },
            .on_close =
                [this](Connection&, CloseReason reason) {
                  --census.now;
                  journal.add(std::string(to_string(reason)));
                }};
  }
  // Connects from 127.0.0.`host`.
  RawPeer peer_from(int host) {
    RawPeer peer;
    sockaddr_in source{.sin_family = AF_INET};
    source.sin_addr.s_addr = htonl(0x7f000000U + static_cast<uint32_t>(host));
    EXPECT_EQ(::bind(peer.fd(), reinterpret_cast<const sockaddr*>(&source), sizeof source), 0);
    peer.connect(address());
    return peer;
  }
  bool stands(RawPeer& peer) {
    return ask([&] { return peer.pump(); });
  }
  testing::AssertionResult echoes(RawPeer& peer) {
    const size_t before = peer.received().size();
    peer.try_send("hello\n");
    return wait_until([&] {
      peer.pump();
      return peer.received().size() == before + 6;
    });
  }

  Census census;
};

TEST_P(ServerCapsTest, oldest_idle_connection_goes_first) {
  auto server = serve(counting(), {.max_connections = 3});
  std::deque<RawPeer> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(connect_peer());
    ASSERT_TRUE(echoes(peers.back()));
  }
  ASSERT_TRUE(echoes(peers[0]));  // so that the second is the oldest
  RawPeer fourth = connect_peer();
  EXPECT_TRUE(ends(peers[1]));
  EXPECT_TRUE(echoes(fourth));
  EXPECT_TRUE(echoes(peers[0]));
  EXPECT_TRUE(echoes(peers[2]));
  EXPECT_EQ(journal.count("idle when the server was full"), 1u);
  EXPECT_EQ(census.most, 3);
  EXPECT_EQ(server->stats().evicted, 1u);
  EXPECT_EQ(server->stats().refused, 0u);
}

TEST_P(ServerCapsTest, newcomer_is_refused_when_nobody_is_idle) {
  auto server = serve(counting(), {.max_connections = 2});
  RawPeer first = connect_peer();
  RawPeer second = connect_peer();
  first.send("half a message");
  second.send("half a message");
  ASSERT_TRUE(wait_until([&] { return loop().engine().stats().received_bytes == 28; }));
  RawPeer third = connect_peer();
  EXPECT_TRUE(ends(third));
  EXPECT_TRUE(stands(first));
  EXPECT_TRUE(stands(second));
  EXPECT_EQ(server->stats().refused, 1u);
  // A connection that ends makes room.
  first.close();
  ASSERT_TRUE(wait_until([&] { return census.now == 1; }));
  RawPeer fourth = connect_peer();
  EXPECT_TRUE(echoes(fourth));
  EXPECT_EQ(census.total, 3);
}

TEST_P(ServerCapsTest, one_address_may_not_take_all) {
  auto server = serve(counting(), {.max_connections = 4, .max_connections_per_address = 2});
  RawPeer other = peer_from(2);
  ASSERT_TRUE(echoes(other));
  RawPeer first = peer_from(1);
  ASSERT_TRUE(echoes(first));
  RawPeer second = peer_from(1);
  ASSERT_TRUE(echoes(second));
  // The client's own oldest connection is evicted, although another address has an older one.
  RawPeer third = peer_from(1);
  EXPECT_TRUE(echoes(third));
  EXPECT_TRUE(ends(first));
  EXPECT_TRUE(stands(other));
  RawPeer more = peer_from(3);
  EXPECT_TRUE(echoes(more));
  EXPECT_EQ(census.now, 4);
  EXPECT_EQ(census.most, 4);
}

TEST_P(ServerCapsTest, storm_on_several_loops_never_exceeds_the_cap) {
  for (AcceptMode mode : {AcceptMode::kReusePort, AcceptMode::kRoundRobin, AcceptMode::kLeastLoaded}) {
    Census storm;
    auto group = LoopGroup::start(3, group_options()).value();
    ServerOptions caps = group_server({.accept = mode, .max_connections = 8, .max_connections_per_address = 7});
    Server server(
        *group,
        {.on_open = [&](Connection&) { storm.enter(); }, .on_close = [&](Connection&, CloseReason) { --storm.now; }},
        caps);
    SocketAddress bound = server.listen("127.0.0.1:0").value();
    std::vector<RawPeer> peers = RawPeer::connected_many(bound, 150);
    auto all_served = [&] {
      NetStats stats = server.stats();
      return stats.opened + stats.refused == peers.size();
    };
    const TimePoint give_up = monotonic_now() + std::chrono::seconds(10);
    while (!all_served() && monotonic_now() < give_up) {
      RawPeer::tend_all();
      std::this_thread::yield();
    }
    EXPECT_TRUE(all_served());
    EXPECT_LE(storm.most, 7);
    EXPECT_GE(storm.most, 1);
    NetStats stats = server.stats();
    EXPECT_EQ(stats.closed, stats.evicted);
    EXPECT_EQ(stats.opened - stats.closed, static_cast<uint64_t>(storm.now));
  }
}

TEST_P(ServerCapsTest, newcomer_that_waits_for_a_place_when_the_server_dies) {
  std::unique_ptr<Server> server;
  bool died = false;
  server = serve({.on_open = [&](Connection&) { census.enter(); },
                  .on_close =
                      [&](Connection&, CloseReason) {
                        server.reset();  // while the newcomer that is to have this place waits
                        died = true;
                      }},
                 {.max_connections = 1});
  RawPeer first = connect_peer();
  ASSERT_TRUE(wait_until([&] { return census.total == 1; }));
  RawPeer second = connect_peer();
  ASSERT_TRUE(wait_until([&] { return died; }));
  EXPECT_TRUE(ends(second));
  EXPECT_EQ(census.total, 1);
}

PEAL_TEST_ON_EVERY_PORT(ServerCapsTest);

}  // namespace
}  // namespace peal
