// SPDX-License-Identifier: BSD-3-Clause
// The old process removed the new one's socket file, and nobody could reach either. At its end a unix socket's file was
// removed by its path, whoever's it was by then: a new process that had replaced the file, as a restart by `rm -f` or
// by rename does, was cut off from its clients for good. The same with a stale file that two new servers find at once.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <peal/engine/listening_socket.h>
#include <peal/net/datagram_socket.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class SocketFileOfAnother : public test::NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    path = testing::TempDir() + "peal-file-" + std::to_string(::getpid());
  }
  void TearDown() override {
    std::filesystem::remove(path);
    NetTest::TearDown();
  }
  // As another process would.
  Fd replace(int type) const {
    std::filesystem::remove(path);
    const SocketAddress there = SocketAddress::parse("unix:" + path).value();
    Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), there.data(), there.size()), 0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(::listen(fd.get(), 8), 0);
    }
    return fd;
  }
  bool is_served() const {
    const SocketAddress there = SocketAddress::parse("unix:" + path).value();
    const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::connect(client.get(), there.data(), there.size()) == 0;
  }

  std::string path;
};

TEST_P(SocketFileOfAnother, server_ends) {
  auto server = std::make_unique<Server>(loop(), test::echoing());
  ASSERT_TRUE(server->listen("unix:" + path));
  const Fd other = replace(SOCK_STREAM);
  server.reset();
  ask([] {});
  EXPECT_TRUE(is_served());
}

TEST_P(SocketFileOfAnother, server_drains) {
  auto server = std::make_unique<Server>(loop(), test::echoing());
  ASSERT_TRUE(server->listen("unix:" + path));
  const Fd other = replace(SOCK_STREAM);
  server->drain_and_wait(std::chrono::seconds(1));
  EXPECT_TRUE(is_served());
}

TEST_P(SocketFileOfAnother, its_own_is_removed) {
  auto server = std::make_unique<Server>(loop(), test::echoing());
  ASSERT_TRUE(server->listen("unix:" + path));
  EXPECT_TRUE(is_served());
  server.reset();
  ask([] {});
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(SocketFileOfAnother, datagram_socket_ends) {
  std::optional<DatagramSocket> socket;
  ask([&] { socket.emplace(loop(), DatagramCallbacks{}); });
  ASSERT_TRUE(ask([&] { return socket->open("unix:" + path).has_value(); }));
  const Fd other = replace(SOCK_DGRAM);
  ask([&] { socket.reset(); });
  ask([] {});
  EXPECT_TRUE(std::filesystem::exists(path));
}

PEAL_TEST_ON_EVERY_ENGINE(SocketFileOfAnother);

TEST(StaleSocketFile, two_that_find_it_at_once_leave_one_that_serves) {
  const std::string path = testing::TempDir() + "peal-stale-" + std::to_string(::getpid());
  const SocketAddress there = SocketAddress::parse("unix:" + path).value();
  for (int round = 0; round < 200; ++round) {
    {
      const Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::bind(dead.get(), there.data(), there.size()), 0);
    }
    std::atomic<int> ready = 0;
    std::vector<Fd> sockets(4);
    {
      std::vector<std::jthread> starters;
      for (Fd& socket : sockets) {
        starters.emplace_back([&] {
          ++ready;
          while (ready < 4) std::this_thread::yield();
          if (Result<Fd> opened = open_listening_socket(there, {})) socket = std::move(*opened);
        });
      }
    }
    int serving = 0;
    for (const Fd& socket : sockets) serving += socket ? 1 : 0;
    EXPECT_EQ(serving, 1) << "round " << round;
    const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), there.data(), there.size()), 0) << "round " << round;
    ::unlink(path.c_str());
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace peal
