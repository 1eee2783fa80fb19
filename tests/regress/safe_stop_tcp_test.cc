// SPDX-License-Identifier: BSD-3-Clause
// Stopping a server of another library can hang, crash, or cut off connections in the middle of their answers. Here a
// drain loses no byte of an answer. stop() may be called on any thread, at any time, any number of times.
#include <poll.h>

#include <deque>
#include <latch>
#include <thread>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

class SafeStopTcp : public test::NetTest {};

// Reads until the connection ends and adds the number of bytes to `got`. Returns 0 after a FIN, and -1 after an error
// or if nothing has arrived for 10 s.
ssize_t read_all(const RawPeer& peer, size_t& got) {
  std::string room(64 * 1024, '\0');
  for (;;) {
    pollfd entry{.fd = peer.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 10'000) != 1) return -1;
    ssize_t count = ::recv(peer.fd(), room.data(), room.size(), MSG_DONTWAIT);
    if (count <= 0) return count;
    got += static_cast<size_t>(count);
  }
}

TEST_P(SafeStopTcp, drain_loses_no_byte_of_an_answer) {
  constexpr size_t kAnswer = 3'000'000;
  constexpr size_t kPeers = 10;
  auto group = LoopGroup::start(2, options()).value();
  const std::string answer = pattern(kAnswer);
  std::atomic<size_t> asked = 0;
  Server server(*group, {.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    connection.send(answer);
    ++asked;
  }});
  SocketAddress bound = server.listen("127.0.0.1:0").value();
  std::deque<RawPeer> peers(kPeers);
  for (RawPeer& peer : peers) {
    peer.connect(bound);
    peer.send("?");
  }
  while (asked < kPeers) std::this_thread::yield();
  std::deque<std::jthread> readers;
  std::vector<size_t> got(kPeers);
  std::vector<ssize_t> ends(kPeers, -1);
  for (size_t i = 0; i < kPeers; ++i) {
    readers.emplace_back([&, i] {
      ends[i] = read_all(peers[i], got[i]);
      peers[i].close();
    });
  }
  DrainReport report = server.drain_and_wait(std::chrono::seconds(20));
  readers.clear();
  EXPECT_EQ(report.finished, kPeers);
  EXPECT_EQ(report.forced + report.lost_bytes + report.lost_in_kernel_bytes, 0u);
  EXPECT_THAT(got, testing::Each(kAnswer));
  EXPECT_THAT(ends, testing::Each(0));
}

TEST_P(SafeStopTcp, stop_from_many_threads_under_load_never_hangs) {
  for (int round = 0; round < 10; ++round) {
    auto group = LoopGroup::start(2, options()).value();
    auto server = std::make_unique<Server>(*group, test::echoing());
    SocketAddress bound = server->listen("127.0.0.1:0").value();
    std::deque<RawPeer> peers(20);
    for (RawPeer& peer : peers) {
      peer.connect(bound);
      peer.try_send(pattern(50'000));
    }
    std::latch go(4);
    std::deque<std::jthread> stoppers;
    for (int i = 0; i < 3; ++i) {
      stoppers.emplace_back([&] {
        go.arrive_and_wait();
        group->stop();
      });
    }
    server->drain(std::chrono::seconds(5), [](const DrainReport&) {});
    go.arrive_and_wait();
    stoppers.clear();
    group->join();
    // Destroys the loops before the server in every second round, and after it in the others.
    if (round % 2 == 0) group.reset();
    server.reset();
  }
}

TEST_P(SafeStopTcp, loop_may_be_stopped_in_each_callback) {
  for (std::string_view where : {"open", "message", "close"}) {
    SCOPED_TRACE(where);
    auto own = test::make_loop(options()).value();
    auto stop_in = [&](std::string_view here) {
      if (here == where) own->stop();
    };
    Server server(*own, {.on_open = [&](Connection&) { stop_in("open"); },
                         .on_message =
                             [&](Connection& connection, Buffer& input) {
                               input.clear();
                               stop_in("message");
                               connection.close();
                             },
                         .on_close = [&](Connection&, CloseReason) { stop_in("close"); }});
    SocketAddress bound = server.listen("127.0.0.1:0").value();
    RawPeer peer = RawPeer::connected(bound);
    peer.send("?");
    peer.fin();
    EXPECT_TRUE(own->run());
  }
}

PEAL_TEST_ON_EVERY_ENGINE(SafeStopTcp);

}  // namespace
}  // namespace peal
