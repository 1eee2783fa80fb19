// SPDX-License-Identifier: BSD-3-Clause
// A task waited for room on a full socket whose peer had sent a FIN. epoll was asked to report FINs even if nobody
// read, and a FIN counted as ready in both directions. So the watch was told "writable" up to 600,000 times a second,
// and `co_await writable()` returned at once, again and again, although the socket took no bytes. Now a FIN only counts
// as something to read.
#include <sys/socket.h>

#include <array>
#include <string>
#include <tuple>

#include <gmock/gmock.h>

#include <peal/coro/when.h>
#include <peal/loop/watch.h>
#include <peal/sync/async_fd.h>
#include <tests/support/engine_rig.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/engines/task_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class FinBesideAFullSocket : public test::TaskTest {
 protected:
  void SetUp() override {
    TaskTest::SetUp();
    if (IsSkipped()) return;
    std::tie(near, far) = test::socket_pair();
    const std::string much = pattern(1 << 16);
    while (::send(near.get(), much.data(), much.size(), MSG_NOSIGNAL) > 0) continue;
    ASSERT_EQ(::shutdown(far.get(), SHUT_WR), 0);
  }
  void TearDown() override {
    near.reset();
    far.reset();
    TaskTest::TearDown();
  }
  void drain_far() {
    std::array<char, 1 << 16> room;
    while (::recv(far.get(), room.data(), room.size(), 0) > 0) continue;
  }

  Fd near;
  Fd far;
};
PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(FinBesideAFullSocket);

TEST_P(FinBesideAFullSocket, writer_waits_until_there_is_room) {
  AsyncFd fd(loop(), near.get());
  auto writes = [&]() -> Task<> {
    EXPECT_TRUE(co_await fd.writable());
    notes.emplace_back("room");
  };
  auto drains = [&]() -> Task<> {
    co_await settle();
    notes.emplace_back("drained");
    drain_far();
  };
  auto test = [&]() -> Task<> { co_await when_all(writes(), drains()); };
  run(test());
  EXPECT_THAT(notes, ElementsAre("drained", "room"));
}

TEST_P(FinBesideAFullSocket, reader_that_sees_the_fin_does_not_wake_the_writer) {
  AsyncFd fd(loop(), near.get());
  auto writes = [&]() -> Task<> {
    EXPECT_TRUE(co_await fd.writable());
    notes.emplace_back("room");
  };
  auto reads = [&]() -> Task<> {
    co_await settle();
    EXPECT_TRUE(co_await fd.readable());
    EXPECT_TRUE(co_await fd.readable());
    notes.emplace_back("FIN");
    co_await settle();
    drain_far();
  };
  auto test = [&]() -> Task<> { co_await when_all(writes(), reads()); };
  run(test());
  EXPECT_THAT(notes, ElementsAre("FIN", "room"));
}

TEST_P(FinBesideAFullSocket, watch_of_both_directions_is_told_readable_only) {
  int told = 0;
  int writable = 0;
  Watch watch(loop(), near.get(), {.readable = true, .writable = true}, [&](Readiness ready) {
    EXPECT_TRUE(ready.readable);
    writable += ready.writable ? 1 : 0;
    if (++told == 5) watch.set_interest({.writable = true});
  });
  auto test = [&]() -> Task<> {
    while (told < 5) co_await settle();
    co_await settle();
    EXPECT_EQ(told, 5) << "the watch asked only for writable and was called for the FIN";
    EXPECT_EQ(writable, 0);
    watch.set_interest({});
  };
  run(test());
}

// The kernel has no room for the output of a stream. A FIN of the peer must not make the engine try to send again.
TEST_P(FinBesideAFullSocket, stream_that_waits_for_room_does_not_send_because_of_a_fin) {
  if (std::string(GetParam()) == "sim") GTEST_SKIP() << "the simulator's streams are not sockets";
  EngineRig rig{std::string(GetParam())};
  auto [own, peer] = test::socket_pair();
  StreamLog& stream = rig.adopt(LooseStream(std::move(own)));
  stream.receive();
  stream.send_blocks(Buffer(pattern(3'000'000)));
  rig.settle();
  ASSERT_GT(stream.queued(), 0U);
  const uint64_t sends = rig.stats().sends;
  ASSERT_EQ(::shutdown(peer.get(), SHUT_WR), 0);
  ASSERT_TRUE(rig.run_until([&] { return stream.ended; }));
  rig.settle();
  EXPECT_EQ(rig.stats().sends, sends);
}

}  // namespace
}  // namespace peal
