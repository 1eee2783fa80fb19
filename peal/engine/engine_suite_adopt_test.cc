// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, sockets that listen already and that several processes may hold. They are sockets of the
// kernel, so the suite runs only on the engines that have fds.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <deque>
#include <filesystem>

#include <peal/engine/listening_socket.h>
#include <tests/support/engine_rig.h>
#include <tests/support/raw_peer.h>

namespace peal {
namespace {

class EngineAdopt : public EngineTest {
 protected:
  static Fd open(const SocketAddress& address = EngineRig::loopback()) {
    return open_listening_socket(address, {}).value();
  }
  static Fd copy_of(const Fd& fd) { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }
  void accepts(AcceptLog& acceptor, size_t count) {
    ASSERT_TRUE(rig().run_until([&] { return acceptor.accept_count >= count; }));
    EXPECT_EQ(acceptor.accept_count, count);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, EngineAdopt, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(EngineAdopt, clients_that_came_before_the_adoption_are_accepted) {
  Fd socket = open();
  const SocketAddress address = listening_address(socket.get()).value();
  std::vector<RawPeer> peers = RawPeer::connected_many(address, 5);
  AcceptLog& acceptor = rig().adopt_listener(std::move(socket));
  EXPECT_EQ(acceptor.address, address);
  accepts(acceptor, 5);
  StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
  server.receive();
  peers.front().send("hello");
  ASSERT_TRUE(rig().run_until([&] { return server.received == "hello"; }));
  ASSERT_TRUE(rig().stops(acceptor));
}

TEST_P(EngineAdopt, a_shared_socket_yields_all_its_clients_one_a_turn) {
  for (const bool shared : {true, false}) {
    Fd socket = open();
    const SocketAddress address = listening_address(socket.get()).value();
    AcceptLog& acceptor = rig().adopt_listener(std::move(socket), {.socket = {}, .shared = shared});
    std::vector<RawPeer> peers = RawPeer::connected_many(address, 8);
    accepts(acceptor, peers.size());
    std::vector<RawPeer> more = RawPeer::connected_many(address, 8);
    accepts(acceptor, peers.size() + more.size());
    ASSERT_TRUE(rig().stops(acceptor));
  }
}

// The socket stays open in its other holders, such as a master process or the next worker.
TEST_P(EngineAdopt, another_holder_accepts_what_comes_after_the_stop) {
  const Fd master = open();
  const SocketAddress address = listening_address(master.get()).value();
  AcceptLog& first = rig().adopt_listener(copy_of(master));
  std::deque<RawPeer> peers(20);
  size_t connected = 0;
  first.when_accepted = [&] {
    if (first.accept_count == 3) first.stop();
  };
  for (; connected < 10; ++connected) peers[connected].connect(address);
  ASSERT_TRUE(rig().run_until([&] { return first.stopped; }));
  for (; connected < 20; ++connected) peers[connected].connect(address);
  AcceptLog& second = rig().adopt_listener(copy_of(master));
  ASSERT_TRUE(rig().run_until([&] { return first.accept_count + second.accept_count == 20; }));
  EXPECT_GE(first.accept_count, 3U);
  EXPECT_GE(second.accept_count, 10U);
  ASSERT_TRUE(rig().stops(second));
}

TEST_P(EngineAdopt, two_at_once_share_the_clients_and_lose_none) {
  const Fd master = open();
  const SocketAddress address = listening_address(master.get()).value();
  AcceptLog& old = rig().adopt_listener(copy_of(master), {.socket = {}, .shared = true});
  AcceptLog& fresh = rig().adopt_listener(copy_of(master), {.socket = {}, .shared = true});
  std::deque<RawPeer> peers;
  for (int i = 0; i < 20; ++i) peers.emplace_back().connect(address);
  ASSERT_TRUE(rig().run_until([&] { return old.accept_count + fresh.accept_count >= 10; }));
  old.stop();
  for (int i = 0; i < 20; ++i) peers.emplace_back().connect(address);
  ASSERT_TRUE(rig().run_until([&] { return old.accept_count + fresh.accept_count == 40; }));
  ASSERT_TRUE(rig().stops(fresh));
}

TEST_P(EngineAdopt, socket_file_stays_where_it_was) {
  const std::string path = testing::TempDir() + "peal-adopt-" + std::to_string(::getpid());
  Fd master = open(SocketAddress::parse("unix:" + path).value());
  const SocketFile file = SocketFile::of(master.get());
  AcceptLog& acceptor = rig().adopt_listener(copy_of(master));
  ASSERT_TRUE(rig().stops(acceptor));
  // A listener that never accepted keeps the socket file, too.
  rig().engine().stop(rig().engine().adopt_listener(copy_of(master), {}).value());
  EXPECT_TRUE(std::filesystem::exists(path));
  RawPeer peer = RawPeer::connected(SocketAddress::parse("unix:" + path).value());
  accepts(rig().adopt_listener(copy_of(master)), 1);
  close_listening_socket(std::move(master), file);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(EngineAdopt, socket_that_blocked_is_made_fit) {
  Fd socket = open();
  ASSERT_EQ(::fcntl(socket.get(), F_SETFL, 0), 0);
  ASSERT_EQ(::fcntl(socket.get(), F_SETFD, 0), 0);
  const int fd = socket.get();
  const SocketAddress address = listening_address(fd).value();
  AcceptLog& acceptor = rig().adopt_listener(std::move(socket), {.socket = {.keep_alive = true}});
  EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  RawPeer peer = RawPeer::connected(address);
  accepts(acceptor, 1);
  const Fd accepted = std::move(acceptor.accepted.front()).take_fd();
  for (const auto& [level, name] : {std::pair{SOL_SOCKET, SO_KEEPALIVE}, {IPPROTO_TCP, TCP_NODELAY}}) {
    int value = 0;
    socklen_t size = sizeof value;
    ASSERT_EQ(::getsockopt(accepted.get(), level, name, &value, &size), 0);
    EXPECT_EQ(value, 1);
  }
}

TEST_P(EngineAdopt, what_does_not_listen_is_refused) {
  Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(rig().engine().adopt_listener(std::move(silent), {}).error(), std::errc::invalid_argument);
  Fd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(rig().engine().adopt_listener(std::move(datagrams), {}).has_value());
  Fd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(rig().engine().adopt_listener(std::move(file), {}).error(), std::errc::not_a_socket);
  EXPECT_EQ(listening_address(-1).error(), std::errc::bad_file_descriptor);
}

TEST(EngineAdoptSim, an_engine_without_fds_says_so) {
  auto engine = test::make_engine("sim");
  ASSERT_TRUE(engine.has_value());
  Fd socket = open_listening_socket(EngineRig::loopback(), {}).value();
  EXPECT_EQ((*engine)->adopt_listener(std::move(socket), {}).error(), std::errc::operation_not_supported);
}

}  // namespace
}  // namespace peal
