// SPDX-License-Identifier: BSD-3-Clause
// Tests for the level-triggered pollers only: the limit of select's fd_set, how the engine handles it, and fairness.
#include <peal/engine/readiness/parts/select_poller.h>

#include <fcntl.h>
#include <sys/eventfd.h>

#include <array>
#include <set>
#include <vector>

#include <peal/engine/readiness/parts/poll_poller.h>
#include <tests/support/engine_rig.h>
#include <tests/support/many_fds.h>
#include <tests/support/raw_peer.h>

namespace peal::detail {
namespace {

using test::ManyFds;

TEST(SelectPoller, select_refuses_an_fd_beyond_its_set) {
  ManyFds fds;
  if (!fds.enough) GTEST_SKIP() << "this process may not have " << ManyFds::kFds << " fds";
  Fd low(::eventfd(1, EFD_CLOEXEC));
  Fd high(::fcntl(low.get(), F_DUPFD_CLOEXEC, FD_SETSIZE));
  ASSERT_GE(high.get(), FD_SETSIZE);
  auto poller = std::move(*SelectPoller::make());
  EXPECT_EQ(test::error_of(poller->add(high.get(), 1, kReadable, false)), std::errc::too_many_files_open);
  ASSERT_TRUE(poller->add(low.get(), 2, kReadable, false).has_value());
  std::array<PollEvent, 4> events;
  ASSERT_EQ(poller->wait(events, kNever), 1U);
  EXPECT_EQ(uint64_t{events[0].key}, 2U);
}

TEST(SelectPoller, engine_tells_the_owner_of_each_fd_it_refuses) {
  ManyFds fds;
  if (!fds.enough) GTEST_SKIP() << "this process may not have " << ManyFds::kFds << " fds";
  EngineRig rig("select");
  AcceptLog& acceptor = rig.listen();
  RawPeer unlucky;
  RawPeer late;
  Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto [client, server] = rig.pair();
  fds.take_low_ones();
  StreamLog& refused = rig.connect(acceptor.address, "refused");
  refused.receive();
  refused.send("lost");
  ASSERT_TRUE(rig.run_until([&] { return refused.connected; }));
  EXPECT_EQ(refused.connect_error, std::errc::too_many_files_open);
  refused.close();
  // The listener closes the waiting client, which sees its connection end.
  unlucky.connect(acceptor.address);
  ASSERT_TRUE(rig.run_beside([&] { return !unlucky.pump(); }));
  EXPECT_EQ(acceptor.accept_count, 0U);
  EXPECT_GE(rig.stats().accepts_shed, 1U);
  // Adopting a stream with a high fd succeeds, and the stream ends when it is received from.
  Fd moved(::fcntl(late.fd(), F_DUPFD_CLOEXEC, FD_SETSIZE));
  StreamLog& adopted = rig.adopt(LooseStream(std::move(moved)), "adopted");
  adopted.send("nowhere");
  rig.settle();
  EXPECT_FALSE(adopted.ended) << "told before it was asked to receive";
  adopted.receive();
  ASSERT_TRUE(rig.run_until([&] { return adopted.ended; }));
  EXPECT_EQ(adopted.end_error, std::errc::too_many_files_open);
  EXPECT_EQ(adopted.queued(), 0U);
  adopted.close();
  // Watching a high fd fails.
  Fd high(::fcntl(event.get(), F_DUPFD_CLOEXEC, FD_SETSIZE));
  struct Nobody final : WatchEvents {
    void on_ready(bool, bool) override { ADD_FAILURE(); }
    void on_unwatched() override { ADD_FAILURE(); }
  } nobody;
  EXPECT_EQ(rig.engine().watch(high.get(), true, true, nobody).error(), std::errc::too_many_files_open);
  // Streams with low fds keep working. When low fds are free again, new clients are accepted.
  client.receive();
  server.send("unmoved");
  ASSERT_TRUE(rig.run_until([&] { return client.received == "unmoved"; }));
  fds.give_back();
  late.connect(acceptor.address);
  ASSERT_TRUE(rig.run_until([&] { return acceptor.accept_count == 1; }));
}

class LevelPoller : public testing::TestWithParam<MakePoller> {};
INSTANTIATE_TEST_SUITE_P(Pollers, LevelPoller, testing::Values(PollPoller::make, SelectPoller::make));

TEST_P(LevelPoller, all_get_their_turn_when_more_are_ready_than_there_is_room) {
  auto poller = std::move(*GetParam()());
  std::vector<Fd> fds;
  for (uint64_t key = 0; key < 10; ++key) {
    fds.emplace_back(::eventfd(1, EFD_CLOEXEC));
    ASSERT_TRUE(poller->add(fds.back().get(), key, kReadable, false).has_value());
  }
  std::set<uint64_t> told;
  std::array<PollEvent, 3> events;
  for (int wait = 0; wait < 4; ++wait) {
    ASSERT_EQ(poller->wait(events, kNever), events.size());
    for (const PollEvent& event : events) told.insert(uint64_t{event.key});
  }
  EXPECT_EQ(told.size(), fds.size());
}

TEST_P(LevelPoller, only_what_is_asked_is_told_however_often_it_changes) {
  auto poller = std::move(*GetParam()());
  std::array<Fd, 3> fds;
  for (uint64_t key = 0; key < fds.size(); ++key) {
    fds[key].reset(::eventfd(1, EFD_CLOEXEC));
    ASSERT_TRUE(poller->add(fds[key].get(), key, key == 1 ? 0 : kReadable, false).has_value());
  }
  std::array<PollEvent, 8> events;
  EXPECT_EQ(poller->wait(events, TimePoint::min()), 2U);
  poller->remove(fds[0].get(), 0);
  ASSERT_EQ(poller->wait(events, TimePoint::min()), 1U);
  EXPECT_EQ(uint64_t{events[0].key}, 2U);
  poller->modify(fds[1].get(), 7, kWritable, false);
  poller->modify(fds[2].get(), 2, 0, false);
  ASSERT_EQ(poller->wait(events, TimePoint::min()), 1U);
  EXPECT_EQ(uint64_t{events[0].key}, 7U);
  EXPECT_EQ(uint32_t{events[0].readiness}, kWritable);
  poller->remove(fds[1].get(), 7);
  ASSERT_TRUE(poller->add(fds[0].get(), 9, kReadable, false).has_value());
  ASSERT_EQ(poller->wait(events, TimePoint::min()), 1U);
  EXPECT_EQ(uint64_t{events[0].key}, 9U);
  poller->remove(fds[0].get(), 9);
  TimePoint until = monotonic_now() + std::chrono::milliseconds(2);
  EXPECT_EQ(poller->wait(events, until), 0U);
  EXPECT_GE(monotonic_now(), until);
}

}  // namespace
}  // namespace peal::detail
