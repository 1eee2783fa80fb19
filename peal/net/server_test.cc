// SPDX-License-Identifier: BSD-3-Clause
// On which address a server listens, and on which of its loops it serves.
#include <peal/net/server.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include <tests/support/files/temporary_folder.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr AcceptMode kModes[] = {AcceptMode::kReusePort, AcceptMode::kRoundRobin, AcceptMode::kLeastLoaded};

class ServerTest : public test::NetTest {
 protected:
  std::unique_ptr<LoopGroup> group_of(size_t count) { return LoopGroup::start(count, group_options()).value(); }

  // Returns callbacks that count on which loop connections open.
  SharedConnectionCallbacks placing() {
    return {.on_open =
                [this](Connection& connection) {
                  const std::lock_guard lock(mutex);
                  ++opened[&connection.loop()];
                },
            .on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }};
  }
  size_t opened_on(Loop& loop) {
    const std::lock_guard lock(mutex);
    return opened[&loop];
  }
  testing::AssertionResult opens(size_t count) {
    return wait_until([this, count] {
      const std::lock_guard lock(mutex);
      size_t sum = 0;
      for (auto& [loop, opened_there] : opened) sum += opened_there;
      return sum == count;
    });
  }
  // Connects, sends and receives the same bytes.
  void expect_echo(const SocketAddress& address) {
    RawPeer peer(address.family());
    peer.connect(address);
    peer.send("hello");
    ASSERT_TRUE(hears_all(peer, "hello")) << address.to_string();
  }

  std::mutex mutex;
  std::map<Loop*, size_t> opened;
};

TEST_P(ServerTest, reuse_port_spreads_over_all_loops_on_one_port) {
  auto group = group_of(3);
  Server server(*group, placing(), group_server());
  SocketAddress address = server.listen("127.0.0.1:0").value();
  EXPECT_NE(address.port(), 0);
  // The kernel hashes by port: 100 clients miss one of three loops once in 10^17 times.
  std::vector<RawPeer> peers = RawPeer::connected_many(address, 100);
  ASSERT_TRUE(opens(100));
  for (size_t i = 0; i < 3; ++i) EXPECT_GT(opened_on((*group)[i]), 0u) << i;
  EXPECT_EQ(server.connections(), 100u);
  EXPECT_EQ(server.stats().opened, 100u);
}

TEST_P(ServerTest, round_robin_is_exactly_even) {
  auto group = group_of(3);
  Server server(*group, placing(), group_server({.accept = AcceptMode::kRoundRobin}));
  SocketAddress address = server.listen("127.0.0.1:0").value();
  std::vector<RawPeer> peers = RawPeer::connected_many(address, 30);
  ASSERT_TRUE(opens(30));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(opened_on((*group)[i]), 10u) << i;
}

TEST_P(ServerTest, least_loaded_fills_the_idle_loop_first) {
  auto group = group_of(2);
  Server server(*group, placing(), group_server({.accept = AcceptMode::kLeastLoaded}));
  SocketAddress address = server.listen("127.0.0.1:0").value();
  std::vector<RawPeer> peers = RawPeer::connected_many(address, 8);
  ASSERT_TRUE(opens(8));
  EXPECT_EQ(opened_on((*group)[0]), 4u);
  EXPECT_EQ(opened_on((*group)[1]), 4u);
  // Empties the first loop; the next four connections belong there. The order of accepting tells which loop has which.
  for (size_t i = 0; i < peers.size(); i += 2) peers[i].close();
  ASSERT_TRUE(wait_until([&] { return server.connections() == 4; }));
  std::vector<RawPeer> more = RawPeer::connected_many(address, 4);
  ASSERT_TRUE(opens(12));
  EXPECT_EQ(opened_on((*group)[0]), 8u);
  EXPECT_EQ(opened_on((*group)[1]), 4u);
}

TEST_P(ServerTest, every_mode_serves_on_every_loop) {
  for (AcceptMode mode : kModes) {
    SCOPED_TRACE(static_cast<int>(mode));
    auto group = group_of(2);
    Server server(*group, placing(), group_server({.accept = mode}));
    SocketAddress address = server.listen("127.0.0.1:0").value();
    for (int i = 0; i < 10; ++i) expect_echo(address);
  }
}

TEST_P(ServerTest, port_already_taken_is_an_error_in_every_mode) {
  auto group = group_of(2);
  for (AcceptMode taker : kModes) {
    Server first(*group, placing(), group_server({.accept = taker}));
    SocketAddress address = first.listen("127.0.0.1:0").value();
    for (AcceptMode mode : kModes) {
      SCOPED_TRACE(fmt::format("{} after {}", static_cast<int>(mode), static_cast<int>(taker)));
      Server second(*group, placing(), {.accept = mode});
      EXPECT_EQ(test::error_of(second.listen(address)), errno_code(EADDRINUSE));
      Server alone(loop(), placing(), {.accept = mode});
      EXPECT_EQ(test::error_of(alone.listen(address)), errno_code(EADDRINUSE));
    }
    expect_echo(address);
  }
}

TEST_P(ServerTest, address_that_fails_leaves_the_others_listening) {
  auto group = group_of(2);
  Server other(loop(), placing());
  SocketAddress taken = other.listen("127.0.0.1:0").value();
  Server server(*group, placing(), group_server());
  SocketAddress good = server.listen("127.0.0.1:0").value();
  EXPECT_FALSE(server.listen(taken));
  EXPECT_FALSE(server.listen("nonsense"));
  SocketAddress second = server.listen("127.0.0.1:0").value();
  for (int i = 0; i < 4; ++i) {
    expect_echo(good);
    expect_echo(second);
  }
}

TEST_P(ServerTest, address_that_fails_on_the_second_loop_is_undone_alone) {
  auto group = group_of(2);
  Server server(*group, placing(), group_server());
  SocketAddress good = server.listen("127.0.0.1:0").value();
  (*group)[1].stop();
  ASSERT_TRUE(wait_until([&] { return !(*group)[1].post([] {}); }));
  const size_t fds_before = count_open_fds();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(test::error_of(server.listen("127.0.0.1:0")), make_error_code(Trouble::kLoopStopped));
  }
  // Each time the first loop has closed its listening socket.
  EXPECT_TRUE(wait_until([&] { return count_open_fds() <= fds_before; }));
  for (int i = 0; i < 8; ++i) expect_echo(good);
}

TEST_P(ServerTest, bad_addresses_are_told_apart) {
  Server server(loop(), placing());
  EXPECT_EQ(test::error_of(server.listen("localhost:0")), make_error_code(Trouble::kNameNotAddress));
  EXPECT_EQ(test::error_of(server.listen("")), make_error_code(Trouble::kNoPort));
  EXPECT_EQ(test::error_of(server.listen("unix:" + std::string(200, 'x'))), make_error_code(Trouble::kPathTooLong));
  EXPECT_EQ(test::error_of(server.listen("192.0.2.1:0")), errno_code(EADDRNOTAVAIL));
  EXPECT_EQ(test::error_of(server.listen("unix:/nowhere/at/all/socket")), errno_code(ENOENT));
}

TEST_P(ServerTest, listening_after_the_loops_end_is_an_error) {
  Server server(loop(), placing());
  end_loop();
  EXPECT_EQ(test::error_of(server.listen("127.0.0.1:0")), make_error_code(Trouble::kLoopStopped));
  EXPECT_EQ(server.stats().opened, 0u);
  server.stop_listening();
}

TEST_P(ServerTest, ipv6) {
  if (!has_ipv6_loopback()) GTEST_SKIP() << "no IPv6 here";
  auto group = group_of(2);
  Server server(*group, placing(), group_server());
  SocketAddress address = server.listen("[::1]:0").value();
  EXPECT_EQ(address.family(), AF_INET6);
  for (int i = 0; i < 4; ++i) expect_echo(address);
}

TEST_P(ServerTest, unix_socket_file_lives_as_long_as_its_server) {
  for (AcceptMode mode : kModes) {
    const test::TemporaryFolder folder;
    const std::string path = folder.path("socket");
    auto group = group_of(2);
    {
      Server server(*group, placing(), group_server({.accept = mode}));
      Result<SocketAddress> address = server.listen("unix:" + path);
      ASSERT_TRUE(address) << address.error().message();
      EXPECT_EQ(address->to_string(), "unix:" + path);
      for (int i = 0; i < 4; ++i) expect_echo(*address);
      Server second(*group, placing(), {.accept = mode});
      EXPECT_EQ(test::error_of(second.listen("unix:" + path)), errno_code(EADDRINUSE));
      expect_echo(*address);
    }
    // The listening socket closes in the loop's next turn.
    ASSERT_TRUE(wait_until([&] { return ::access(path.c_str(), F_OK) != 0; }));
  }
}

TEST_P(ServerTest, stale_socket_file_is_replaced_and_another_file_is_not) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("socket");
  SocketAddress address = address_of("unix:" + path);
  {
    Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(dead.get(), address.data(), address.size()), 0);
  }
  {
    Server server(loop(), placing());
    ASSERT_TRUE(server.listen(address));
    expect_echo(address);
  }
  ASSERT_TRUE(wait_until([&] { return ::access(path.c_str(), F_OK) != 0; }));
  ASSERT_TRUE(std::filesystem::create_directory(path));
  Server server(loop(), placing());
  EXPECT_EQ(test::error_of(server.listen(address)), errno_code(EADDRINUSE));
  EXPECT_TRUE(std::filesystem::is_directory(path));
}

TEST_P(ServerTest, stop_listening_refuses_new_clients_and_keeps_old_ones) {
  for (AcceptMode mode : kModes) {
    auto group = group_of(2);
    Server server(*group, placing(), group_server({.accept = mode}));
    SocketAddress address = server.listen("127.0.0.1:0").value();
    RawPeer old = RawPeer::connected(address);
    ASSERT_TRUE(wait_until([&] { return server.connections() == 1; }));
    server.stop_listening();
    ASSERT_TRUE(wait_until([&] {
      Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      return ::connect(late.get(), address.data(), address.size()) != 0 && errno == ECONNREFUSED;
    }));
    old.send("still there?");
    ASSERT_TRUE(hears_all(old, "still there?"));
    // The port is free, and this server may bind it again.
    ASSERT_TRUE(wait_until([&] { return server.connections() == 1; }));
    EXPECT_TRUE(server.listen(address));
    expect_echo(address);
  }
}

TEST_P(ServerTest, shared_bytes_go_to_many_connections_on_several_loops) {
  constexpr size_t kPeers = 60;
  auto group = group_of(3);
  std::vector<ConnectionHandle> handles;
  auto callbacks = placing();
  callbacks.on_open = [&, place = std::move(callbacks.on_open)](Connection& connection) {
    {
      const std::lock_guard lock(mutex);
      handles.push_back(connection.handle());
    }
    place(connection);
  };
  Server server(*group, std::move(callbacks), group_server({.accept = AcceptMode::kRoundRobin}));
  SocketAddress address = server.listen("127.0.0.1:0").value();
  std::vector<RawPeer> peers = RawPeer::connected_many(address, kPeers);
  ASSERT_TRUE(opens(kPeers));
  std::string news = pattern(300'000);
  std::weak_ptr<const std::string> alive;
  {
    SharedBytes bytes = share_bytes(news);
    alive = bytes;
    for (auto& handle : handles) handle.send(bytes);
  }
  ASSERT_TRUE(wait_until([&] {
    return std::ranges::all_of(peers, [&](RawPeer& peer) {
      peer.pump();
      return peer.received().size() == news.size();
    });
  }));
  for (RawPeer& peer : peers) EXPECT_TRUE(same_bytes(peer.received(), news));
  EXPECT_TRUE(wait_until([&] { return alive.expired(); })) << "somebody still holds the bytes";
  handles.clear();
}

PEAL_TEST_ON_EVERY_PORT(ServerTest);

}  // namespace
}  // namespace peal
