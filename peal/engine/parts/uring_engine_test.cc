// SPDX-License-Identifier: BSD-3-Clause
// What is particular to the engine on io_uring; what every engine must do is in the behaviour suite.
#include <peal/engine/parts/uring_engine.h>

#include <sys/socket.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <vector>

#include <tests/support/engine_rig.h>
#include <tests/support/raw_peer.h>

namespace peal::detail {
namespace {

class UringEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string reason = UringRing::why_unsupported(); !reason.empty()) GTEST_SKIP() << reason;
    rig_ = std::make_unique<EngineRig>("io_uring");
  }
  EngineRig& rig() { return *rig_; }
  std::unique_ptr<EngineRig> rig_;
};

// Two ends of a unix stream, non-blocking.
std::array<Fd, 2> make_ends() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0) << errno;
  return {Fd(ends[0]), Fd(ends[1])};
}

size_t fill(int fd) {
  const std::string bytes = pattern(64 * 1024);
  size_t total = 0;
  for (ssize_t sent; (sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL)) > 0;) {
    total += static_cast<size_t>(sent);
  }
  return total;
}

size_t read_all(int fd) {
  std::array<char, 65536> bytes;
  size_t total = 0;
  for (ssize_t got; (got = ::recv(fd, bytes.data(), bytes.size(), 0)) > 0;) total += static_cast<size_t>(got);
  return total;
}

TEST_F(UringEngineTest, ring_refuses_another_thread) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(std::thread([this] { rig().engine().wait(Engine::kPollOnly); }).join(), "thread that did not open it");
}

TEST_F(UringEngineTest, polling_with_nothing_to_do_makes_no_system_call) {
  auto [client, server] = rig().pair();
  server.receive();
  rig().settle();
  uint64_t waits = rig().stats().waits;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rig().wait(Engine::kPollOnly), 0U);
  EXPECT_EQ(rig().stats().waits, waits);
  client.send("seen");
  for (int i = 0; i < 100 && server.received.empty(); ++i) rig().wait(Engine::kPollOnly);
  EXPECT_EQ(server.received, "seen");
}

// More receives find bytes at once than there are blocks lent, and more requests queue than the ring holds.
TEST_F(UringEngineTest, blocks_that_run_dry_are_lent_anew) {
  constexpr size_t kStreams = 400;
  const std::string bytes = pattern(16 * 1024);
  std::vector<Fd> peers;
  std::vector<StreamLog*> streams;
  for (size_t i = 0; i < kStreams; ++i) {
    auto [mine, theirs] = make_ends();
    ASSERT_EQ(::send(theirs.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    peers.push_back(std::move(theirs));
    streams.push_back(&rig().adopt(LooseStream(std::move(mine))));
    streams.back()->receive();
    streams.back()->send("pong");
  }
  ASSERT_TRUE(rig().run_until([&] {
    return std::ranges::all_of(
        streams, [&](StreamLog* stream) { return stream->received.size() == bytes.size() && stream->queued() == 0; });
  }));
  EXPECT_GT(rig().stats().buffers_dry, 0U);
  for (StreamLog* stream : streams) EXPECT_TRUE(same_bytes(stream->received, bytes));
  for (Fd& peer : peers) EXPECT_EQ(read_all(peer.get()), 4U);
}

TEST_F(UringEngineTest, big_messages_come_whole) {
  constexpr size_t kMessages = 50;
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(16 * 1024);
  server.receive();
  for (size_t i = 1; i <= kMessages; ++i) {
    client.send(bytes);
    ASSERT_TRUE(rig().run_until([&] { return server.received.size() == i * bytes.size(); }));
  }
  // But for the first ones, until the stream is known to be bulky.
  EXPECT_LE(server.receive_count, kMessages + 3);
}

// Keeps what it receives.
class Hoarder final : public StreamEvents {
 public:
  void on_connected(std::error_code) override {}
  void on_received(Buffer& bytes) override { hoard.push_back(std::move(bytes)); }
  void on_receive_end(std::error_code) override {}
  void on_send_failed(std::error_code) override {}
  void on_sent(size_t) override {}
  void on_closed() override { closed = true; }
  void on_detached(LooseStream) override {}
  std::vector<Buffer> hoard;
  bool closed = false;
};

bool kernel_shares_blocks() {
  utsname name{};
  EXPECT_EQ(::uname(&name), 0);
  int major = 0;
  int minor = 0;
  EXPECT_EQ(std::sscanf(name.release, "%d.%d", &major, &minor), 2);
  return major > 6 || (major == 6 && minor >= 12);
}

TEST_F(UringEngineTest, small_messages_share_a_block) {
  if (!kernel_shares_blocks()) GTEST_SKIP() << "blocks are shared from Linux 6.12 on";
  constexpr size_t kMessages = 1000;
  auto [mine, theirs] = make_ends();
  Hoarder hoarder;
  StreamId id = rig().engine().adopt(LooseStream(std::move(mine)), hoarder);
  rig().engine().receive(id, true);
  rig().settle();
  const uint64_t blocks_before = BlockPool::here().stats().blocks_in_use;
  const std::string bytes = pattern(kMessages * 64);
  for (size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(::send(theirs.get(), bytes.data() + i * 64, 64, 0), 64);
    ASSERT_TRUE(rig().run_until([&] { return hoarder.hoard.size() == i + 1; }));
  }
  EXPECT_LE(BlockPool::here().stats().blocks_in_use - blocks_before, 1 + bytes.size() / kLargeBlockBytes);
  std::string got;
  for (Buffer& part : hoarder.hoard) got += part.to_string();
  EXPECT_TRUE(same_bytes(got, bytes));
  hoarder.hoard.clear();
  theirs.reset();
  rig().settle();
  rig().engine().close(id);
  ASSERT_TRUE(rig().run_until([&] { return hoarder.closed; }));
}

TEST_F(UringEngineTest, stash_of_a_pause_holds_what_the_kernel_had_completed_and_no_more) {
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(20'000'000);
  server.receive();
  server.when_received = [&] { server.receive(false); };
  client.send_blocks(Buffer(bytes));
  ASSERT_TRUE(rig().run_until([&] { return server.receive_count == 1; }));
  rig().settle();
  const uint64_t stashed = rig().stats().stashed_bytes;
  EXPECT_LE(stashed, 64U * kLargeBlockBytes);
  EXPECT_GT(client.queued(), 0U) << "the peer is not held back";
  server.when_received = {};
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.received.size() == bytes.size(); }));
  EXPECT_TRUE(same_bytes(server.received, bytes));
  EXPECT_EQ(rig().stats().stashed_bytes, stashed);
}

TEST_F(UringEngineTest, connections_accepted_after_stop_are_delivered_and_counted) {
  constexpr size_t kClients = 5;
  AcceptLog& acceptor = rig().listen();
  std::vector<RawPeer> clients(kClients);
  for (auto& client : clients) client.connect(acceptor.address);
  acceptor.stop();
  ASSERT_TRUE(rig().run_until([&] { return acceptor.stopped; }));
  EXPECT_EQ(acceptor.accept_count, kClients);
  EXPECT_EQ(rig().stats().accepted_late, kClients);
}

// The kernel's own wait for room to send ends at once, again and again, when the peer has sent its FIN.
TEST_F(UringEngineTest, blocked_answer_to_a_half_closed_peer_costs_no_trips) {
  auto [mine, theirs] = make_ends();
  StreamLog& server = rig().adopt(LooseStream(std::move(mine)));
  ASSERT_EQ(::shutdown(theirs.get(), SHUT_WR), 0);
  const std::string answer = pattern(3'000'000);
  server.send_blocks(Buffer(answer));
  server.shutdown_send();
  rig().settle();
  const uint64_t events = rig().stats().events;
  rig().settle();
  EXPECT_EQ(rig().stats().events, events);
  size_t got = 0;
  ASSERT_TRUE(rig().run_beside([&] { return (got += read_all(theirs.get())) == answer.size(); }));
  EXPECT_LT(rig().stats().sends, 200U);
}

TEST_F(UringEngineTest, watch_for_room_beside_a_half_closed_peer_does_not_spin) {
  auto [mine, theirs] = make_ends();
  ASSERT_GT(fill(mine.get()), 0U);
  ASSERT_EQ(::shutdown(theirs.get(), SHUT_WR), 0);
  WatchLog& watch = rig().watch(mine.get(), false, true);
  rig().settle();
  const uint64_t events = rig().stats().events;
  for (int i = 0; i < 20; ++i) rig().wait(Engine::kPollOnly);
  EXPECT_EQ(rig().stats().events, events);
  EXPECT_EQ(watch.writable_count, 0);
  EXPECT_GT(read_all(theirs.get()), 0U);
  ASSERT_TRUE(rig().run_until([&] { return watch.writable_count >= 3; })) << "it is level-triggered";
  watch.unwatch();
  ASSERT_TRUE(rig().run_until([&] { return watch.unwatched; }));
}

TEST_F(UringEngineTest, early_bytes_of_an_adopted_stream_come_first) {
  auto [mine, theirs] = make_ends();
  ASSERT_EQ(::send(theirs.get(), "second", 6, 0), 6);
  StreamLog& server = rig().adopt(LooseStream(std::move(mine), Buffer("first, ")));
  rig().settle();
  EXPECT_EQ(server.received, "");
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.received.size() == 13; }));
  EXPECT_EQ(server.received, "first, second");
}

}  // namespace
}  // namespace peal::detail
