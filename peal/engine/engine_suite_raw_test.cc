// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, against a peer that is a plain socket. The tests do or check what only a socket of the
// test's own can. They need real fds, so the suite runs only on the engines that have them.
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include <peal/engine/listening_socket.h>
#include <tests/support/engine_rig.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/raw_peer.h>

namespace peal {
namespace {

class EngineRaw : public EngineTest {
 protected:
  StreamLog& accept_one(AcceptLog& acceptor) {
    EXPECT_TRUE(rig().run_until([&] { return !acceptor.accepted.empty(); }));
    if (acceptor.accepted.empty()) acceptor.accepted.emplace_back(Fd(::socket(AF_INET, SOCK_STREAM, 0)));
    StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
    acceptor.accepted.pop_front();
    return server;
  }
  // Returns a peer, and the stream that was accepted from it.
  std::pair<RawPeer, StreamLog&> connected_peer() {
    AcceptLog& acceptor = rig().listen();
    RawPeer peer = RawPeer::connected(acceptor.address);
    StreamLog& server = accept_one(acceptor);
    return {std::move(peer), server};
  }
  // Returns a stream, and the other end of its socket.
  std::pair<Fd, StreamLog*> stream_with_peer() {
    auto [peer, own] = test::socket_pair();
    return {std::move(peer), &rig().adopt(LooseStream(std::move(own)))};
  }
  static int option(int fd, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
    return value;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, EngineRaw, testing::ValuesIn(engines_with_fds()), engine_label);
INSTANTIATE_TEST_SUITE_P(Sealed, EngineRaw, testing::ValuesIn(sealed(engines_with_fds())), engine_label);

// After a read that filled a block, the next read takes several blocks, so that a message of four TLS records costs two
// reads. Blocks that were not filled are given back.
TEST_P(EngineRaw, much_that_waits_is_read_at_once) {
  if (test::is_sealed(GetParam())) GTEST_SKIP() << "the engine's reads are what is looked at";
  for (const size_t behind : {1U, kLargeBlockBytes, 45'000U}) {
    const auto [peer, server] = stream_with_peer();
    const std::string bytes = pattern(kLargeBlockBytes + behind);
    ASSERT_EQ(::write(peer.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const uint64_t before = rig().stats().receives;
    server->receive();
    ASSERT_TRUE(rig().run_until([&, &log = *server] { return log.received.size() == bytes.size(); }));
    EXPECT_TRUE(same_bytes(server->received, bytes));
    EXPECT_EQ(rig().stats().receives - before, 2U) << behind;
    EXPECT_EQ(server->last_held_bytes, behind);
  }
}

// A loop that does not wait has other work. If each turn took only the few events that a kernel hands over at once,
// that work would be done after each few events.
TEST_P(EngineRaw, turn_that_does_not_wait_takes_all_that_is_due) {
  if (test::is_sealed(GetParam())) GTEST_SKIP() << "the engine's turns are what is looked at";
  constexpr size_t kMany = 200;
  std::vector<std::pair<Fd, StreamLog*>> streams(kMany);
  for (auto& each : streams) {
    each = stream_with_peer();
    each.second->receive();
  }
  rig().settle();
  for (const auto& [peer, stream] : streams) ASSERT_EQ(::write(peer.get(), "x", 1), 1);
  rig().wait(Engine::kPollOnly);
  EXPECT_EQ(std::ranges::count_if(streams, [](const auto& each) { return each.second->received == "x"; }), kMany);
}

TEST_P(EngineRaw, everything_came_before_the_adoption) {
  AcceptLog& acceptor = rig().listen();
  RawPeer peer = RawPeer::connected(acceptor.address);
  peer.send("question");
  peer.fin();
  StreamLog& server = accept_one(acceptor);
  server.receive();
  server.when_ended = [&] {
    server.send("answer to " + server.received);
    server.shutdown_send();
  };
  ASSERT_TRUE(rig().run_beside([&] { return !peer.pump(); }));
  EXPECT_TRUE(peer.ended());
  EXPECT_EQ(peer.received(), "answer to question");
}

TEST_P(EngineRaw, peer_reset_before_it_was_accepted) {
  AcceptLog& acceptor = rig().listen();
  RawPeer rude = RawPeer::connected(acceptor.address);
  rude.reset();
  RawPeer polite = RawPeer::connected(acceptor.address);
  polite.send("hello");
  // The connection that was reset may or may not be delivered; if it is, it ends by an error. The other must be.
  StreamLog* answered = nullptr;
  acceptor.when_accepted = [&] {
    StreamLog& server = rig().adopt(std::move(acceptor.accepted.back()));
    acceptor.accepted.pop_back();
    server.receive();
    server.when_received = [&] { answered = &server; };
  };
  ASSERT_TRUE(rig().run_until([&] { return answered != nullptr; }));
  EXPECT_EQ(answered->received, "hello");
}

TEST_P(EngineRaw, peer_resets_after_data_that_was_not_asked_for_yet) {
  auto [peer, server] = connected_peer();
  const std::string bytes = pattern(100'000);
  size_t sent = peer.try_send(bytes);
  ASSERT_GT(sent, 0U);
  rig().settle();
  // Only data that has reached the other side survives a reset, so this waits until everything is acknowledged.
  ASSERT_TRUE(rig().run_beside([&] {
    int unacknowledged = 0;
    EXPECT_EQ(::ioctl(peer.fd(), SIOCOUTQ, &unacknowledged), 0);
    return unacknowledged == 0;
  }));
  peer.reset();
  rig().settle();
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_EQ(server.end_error, std::errc::connection_reset);
  EXPECT_TRUE(same_bytes(server.received, bytes.substr(0, sent)));
}

TEST_P(EngineRaw, trickle_of_single_bytes) {
  auto [peer, server] = connected_peer();
  server.receive();
  for (size_t i = 0; i < 300; ++i) {
    peer.send(i % 2 == 0 ? "a" : "b");
    ASSERT_TRUE(rig().run_until([&] { return server.received.size() == i + 1; }));
  }
  peer.reset();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_EQ(server.end_error, std::errc::connection_reset);
}

TEST_P(EngineRaw, server_speaks_before_the_engine_has_seen_the_connection) {
  const Fd listening = open_listening_socket(EngineRig::loopback(), {}).value();
  const SocketAddress bound = listening_address(listening.get()).value();
  for (bool asks_early : {true, false}) {
    for (bool ends : {true, false}) {
      StreamLog& client = rig().connect(bound);
      if (asks_early) client.receive();
      client.when_connected = [&] { client.receive(); };
      Fd greeter;
      ASSERT_TRUE(rig().run_beside([&] {
        greeter.reset(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
        return static_cast<bool>(greeter);
      }));
      ASSERT_EQ(::send(greeter.get(), "220 ready", 9, MSG_NOSIGNAL), 9);
      if (ends) greeter.reset();
      ASSERT_TRUE(rig().run_until([&] { return client.received == "220 ready" && client.ended == ends; }));
      EXPECT_FALSE(client.connect_error);
      EXPECT_FALSE(client.end_error);
      client.close();
    }
  }
}

TEST_P(EngineRaw, firehose_on_another_thread_starves_nobody) {
  auto [hose, flooded] = connected_peer();
  auto [client, server] = rig().pair();
  std::atomic<bool> over = false;
  std::thread pump([&] {
    const std::string water(256 * 1024, 'w');
    while (!over) {
      if (hose.try_send(water) == 0) std::this_thread::yield();
    }
  });
  flooded.receive();
  flooded.when_received = [&] { flooded.received.clear(); };
  EXPECT_TRUE(rig().run_until([&] { return flooded.receive_count > 10; }));
  client.receive();
  server.receive();
  server.when_received = [&] { server.send("pong"); };
  // This runs until enough of the flood has arrived, since the flooding thread may not have been running for a while.
  for (size_t round = 1; round <= 200 || (flooded.receive_count < 500 && round < 100'000); ++round) {
    client.send("ping");
    uint64_t waits = rig().stats().waits;
    EXPECT_TRUE(rig().run_until([&] { return client.received.size() == 4 * round; }));
    EXPECT_LE(rig().stats().waits - waits, 40U);
  }
  over = true;
  pump.join();
  EXPECT_GE(flooded.receive_count, 500U);
}

TEST_P(EngineRaw, urgent_byte_disturbs_nothing) {
  auto [peer, server] = connected_peer();
  server.receive();
  peer.send("before ");
  ASSERT_TRUE(rig().run_until([&] { return server.received == "before "; }));
  peer.send("!", MSG_OOB);
  peer.send("after");
  ASSERT_TRUE(rig().run_until([&] { return server.received == "before after"; }));
  uint64_t waits = rig().stats().waits;
  TimePoint until = rig().engine().now() + std::chrono::milliseconds(20);
  while (rig().engine().now() < until) rig().wait(until);
  EXPECT_LE(rig().stats().waits - waits, 10U) << "the urgent byte keeps the engine spinning";
  peer.fin();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
}

TEST_P(EngineRaw, half_closed_peer_does_not_spin_the_engine) {
  auto [read_not, deaf] = connected_peer();
  auto [ended, server] = connected_peer();
  server.receive();
  read_not.send("never read");
  read_not.fin();
  ended.fin();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  rig().settle();
  uint64_t waits = rig().stats().waits;
  TimePoint until = rig().engine().now() + std::chrono::milliseconds(30);
  while (rig().engine().now() < until) rig().wait(until);
  EXPECT_LE(rig().stats().waits - waits, 10U);
  deaf.close();
}

TEST_P(EngineRaw, accepted_and_connected_sockets_are_set_up) {
  AcceptLog& acceptor = rig().listen(EngineRig::loopback(), {.socket = {.keep_alive = true}});
  StreamLog& client = rig().connect(acceptor.address);
  StreamLog& server = accept_one(acceptor);
  ASSERT_TRUE(rig().run_until([&] { return client.connected; }));
  client.detach();
  server.detach();
  ASSERT_TRUE(rig().run_until([&] { return client.loose && server.loose; }));
  Fd here = std::move(*client.loose).take_fd();
  Fd there = std::move(*server.loose).take_fd();
  for (int fd : {here.get(), there.get()}) {
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
  }
  EXPECT_EQ(option(here.get(), SOL_SOCKET, SO_KEEPALIVE), 0);
  EXPECT_EQ(option(there.get(), SOL_SOCKET, SO_KEEPALIVE), 1);
}

TEST_P(EngineRaw, unix_path_serves_and_leaves_no_file) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("sock");
  for (const std::string& text : {path, "@" + path}) {
    SocketAddress address = address_of("unix:" + text);
    AcceptLog& acceptor = rig().listen(address);
    EXPECT_EQ(acceptor.address, address);
    StreamLog& client = rig().connect(address);
    StreamLog& server = accept_one(acceptor);
    ASSERT_TRUE(rig().run_until([&] { return client.connected; }));
    EXPECT_FALSE(rig().engine().bind(address, {}).has_value()) << "a served address was taken away";
    EXPECT_EQ(rig().engine().peer_address(client.id).value(), address);
    EXPECT_TRUE(rig().engine().peer_address(server.id).value().is_unix());
    const std::string bytes = pattern(1'000'000);
    server.receive();
    client.send_blocks(Buffer(bytes));
    client.shutdown_send();
    ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
    EXPECT_TRUE(same_bytes(server.received, bytes));
    ASSERT_TRUE(rig().stops(acceptor));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  StreamLog& late = rig().connect(address_of("unix:" + path));
  ASSERT_TRUE(rig().run_until([&] { return late.connected; }));
  EXPECT_EQ(late.connect_error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("")));
}

TEST_P(EngineRaw, socket_file_of_a_killed_server_is_taken_over) {
  const test::TemporaryFolder folder;
  SocketAddress address = address_of("unix:" + folder.path("sock"));
  Fd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(dead.get(), address.data(), address.size()), 0);
  dead.reset();
  AcceptLog& acceptor = rig().listen(address);
  RawPeer peer = RawPeer::connected(address);
  accept_one(acceptor);
  ASSERT_TRUE(rig().stops(acceptor));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("")));
}

std::atomic<int> signals_seen = 0;

TEST_P(EngineRaw, signals_interrupt_nothing) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) { ++signals_seen; };  // SA_RESTART is not set.
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  signals_seen = 0;
  std::atomic<bool> over = false;
  std::thread pest([&over, victim = ::pthread_self()] {
    while (!over) {
      ::pthread_kill(victim, SIGUSR1);
      std::this_thread::yield();
    }
  });
  auto [client, server] = rig().pair();
  client.receive();
  server.receive();
  const std::string bytes = pattern(3'000'000);
  client.send_blocks(Buffer(bytes));
  client.shutdown_send();
  server.when_ended = [&] {
    server.send(server.received);
    server.shutdown_send();
  };
  EXPECT_TRUE(rig().run_until([&] { return client.ended && signals_seen > 100; }));
  rig().settle();
  // A signal may end a wait early but must not make it fail. The next wait works as usual.
  TimePoint deadline = rig().engine().now() + std::chrono::milliseconds(20);
  while (rig().engine().now() < deadline) EXPECT_EQ(rig().wait(deadline), 0U);
  over = true;
  pest.join();
  EXPECT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_TRUE(same_bytes(client.received, bytes));
}

}  // namespace
}  // namespace peal
