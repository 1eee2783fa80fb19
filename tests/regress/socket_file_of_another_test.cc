// SPDX-License-Identifier: BSD-3-Clause
// An old process removed the socket file of a new one, and then no client could reach either of them. When a unix
// socket ended, its file was removed by the path, even if another process had replaced the file by then. A restart by
// `rm -f` or by rename replaces the file in this way, and the new process then had no clients for good. The same
// happened if two new servers found a stale file at the same time.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <peal/engine/listening_socket.h>
#include <peal/net/datagram_socket.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class SocketFileOfAnother : public test::NetTest {
 protected:
  // Replaces the socket file, as another process would. Returns the new socket.
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

  const test::TemporaryFolder folder;
  const std::string path = folder.path("socket");
};

TEST_P(SocketFileOfAnother, stays_when_the_server_ends) {
  auto server = std::make_unique<Server>(loop(), test::echoing());
  ASSERT_TRUE(server->listen("unix:" + path));
  const Fd other = replace(SOCK_STREAM);
  server.reset();
  ask([] {});
  EXPECT_TRUE(is_served());
}

TEST_P(SocketFileOfAnother, stays_when_the_server_drains) {
  auto server = std::make_unique<Server>(loop(), test::echoing());
  ASSERT_TRUE(server->listen("unix:" + path));
  const Fd other = replace(SOCK_STREAM);
  server->drain_and_wait(std::chrono::seconds(1));
  EXPECT_TRUE(is_served());
}

TEST_P(SocketFileOfAnother, own_file_of_the_server_is_removed) {
  auto server = std::make_unique<Server>(loop(), test::echoing());
  ASSERT_TRUE(server->listen("unix:" + path));
  EXPECT_TRUE(is_served());
  server.reset();
  ask([] {});
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(SocketFileOfAnother, stays_when_a_datagram_socket_ends) {
  std::optional<DatagramSocket> socket;
  ask([&] { socket.emplace(loop(), DatagramCallbacks{}); });
  ASSERT_TRUE(ask([&] { return socket->open("unix:" + path).has_value(); }));
  const Fd other = replace(SOCK_DGRAM);
  ask([&] { socket.reset(); });
  ask([] {});
  EXPECT_TRUE(std::filesystem::exists(path));
}

PEAL_TEST_ON_EVERY_ENGINE(SocketFileOfAnother);

TEST(StaleSocketFile, exactly_one_of_several_servers_that_find_it_at_once_serves) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("socket");
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
    EXPECT_FALSE(std::filesystem::exists(path + ".lock")) << "round " << round;
    if (testing::Test::HasFailure()) break;
  }
}

// A server that wanted to remove a stale file first bound an abstract unix name, and any user may bind such a name. A
// user who held the name kept the server from starting again after a crash, for good.
class StaleSocketFileOfAnother : public testing::Test {
 protected:
  void SetUp() override {
    const SocketAddress there = address();
    const Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(dead.get(), there.data(), there.size()), 0);
  }
  SocketAddress address() const { return SocketAddress::parse("unix:" + path).value(); }
  Fd lock(mode_t mode) const {
    Fd fd(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
    EXPECT_EQ(::flock(fd.get(), LOCK_EX | LOCK_NB), 0);
    return fd;
  }

  const test::TemporaryFolder folder;
  const std::string path = folder.path("socket");
};

TEST_F(StaleSocketFileOfAnother, abstract_name_held_by_another_user_does_not_matter) {
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  const std::string name = "peal-stale-" + std::to_string(facts.st_dev) + "-" + std::to_string(facts.st_ino);
  const SocketAddress held = SocketAddress::parse("unix:@" + name).value();
  const Fd holder(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(holder.get(), held.data(), held.size()), 0);
  EXPECT_TRUE(open_listening_socket(address(), {}));
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
}

TEST_F(StaleSocketFileOfAnother, lock_of_another_user_is_ignored) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const Fd held = lock(0600);
  ASSERT_EQ(::fchown(held.get(), 65534, 65534), 0);
  EXPECT_TRUE(open_listening_socket(address(), {}));
  EXPECT_TRUE(std::filesystem::exists(path + ".lock")) << "the other user's lock file was removed";
}

TEST_F(StaleSocketFileOfAnother, lock_that_others_may_open_is_ignored) {
  const Fd held = lock(0600);
  ASSERT_EQ(::fchmod(held.get(), 0644), 0);
  EXPECT_TRUE(open_listening_socket(address(), {}));
}

// PostgreSQL keeps a file of this name, with the id of its process in it.
TEST_F(StaleSocketFileOfAnother, other_file_with_the_name_of_the_lock_is_not_removed) {
  const Fd other(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(other.get(), "4711\n", 5), 5);
  EXPECT_TRUE(open_listening_socket(address(), {}));
  EXPECT_EQ(std::filesystem::file_size(path + ".lock"), 5u);
}

TEST_F(StaleSocketFileOfAnother, link_in_the_place_of_the_lock_is_not_followed) {
  std::filesystem::create_symlink(path + ".victim", path + ".lock");
  EXPECT_TRUE(open_listening_socket(address(), {}));
  EXPECT_FALSE(std::filesystem::exists(path + ".victim"));
}

TEST_F(StaleSocketFileOfAnother, lock_of_a_server_that_is_starting_keeps_another_one_out) {
  Fd held = lock(0600);
  EXPECT_EQ(test::error_of(open_listening_socket(address(), {})), errno_code(EADDRINUSE));
  held.reset();  // the holder is killed: its lock file stays
  EXPECT_TRUE(open_listening_socket(address(), {}));
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
}

}  // namespace
}  // namespace peal
