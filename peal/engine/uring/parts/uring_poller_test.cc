// SPDX-License-Identifier: BSD-3-Clause
// Tests for the engine over io_uring only. The behaviour suite has the tests for every engine.
#include <peal/engine/uring/parts/uring_poller.h>

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <vector>

#include <tests/support/engine_rig.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/raw_peer.h>

namespace peal::detail {
namespace {

class UringPollerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string reason = UringPoller::why_unsupported(); !reason.empty()) GTEST_SKIP() << reason;
    rig_ = std::make_unique<EngineRig>("io_uring");
  }
  EngineRig& rig() { return *rig_; }
  std::unique_ptr<EngineRig> rig_;
};

size_t read_all(int fd) {
  std::array<char, 65536> bytes;
  size_t total = 0;
  for (ssize_t got; (got = ::recv(fd, bytes.data(), bytes.size(), 0)) > 0;) total += static_cast<size_t>(got);
  return total;
}

TEST_F(UringPollerTest, ring_refuses_another_thread) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(std::thread([this] { rig().engine().wait(Engine::kPollOnly); }).join(),
               "only the thread that made a ring may use it");
}

TEST(UringSetup, requests_keep_their_order_with_and_without_a_submission_array) {
  std::array<unsigned, 4> array{7, 7, 7, 7};
  UringPoller::keep_order(array.data(), 3);
  EXPECT_EQ(array, (std::array<unsigned, 4>{0, 1, 2, 7}));
  UringPoller::keep_order(nullptr, 512);
}

TEST_F(UringPollerTest, big_messages_come_whole) {
  constexpr size_t kMessages = 50;
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(16 * 1024);
  server.receive();
  for (size_t i = 1; i <= kMessages; ++i) {
    client.send(bytes);
    ASSERT_TRUE(rig().run_until([&] { return server.received.size() == i * bytes.size(); }));
  }
  EXPECT_EQ(server.receive_count, kMessages);
}

std::string read_bytes(int fd) {
  std::string bytes(65536, '\0');
  const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

// Streams whose peers are raw sockets. speak() makes all of them readable in the same turn.
struct Crowd {
  Crowd(EngineRig& rig, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      auto [mine, theirs] = test::socket_pair();
      peers.push_back(std::move(theirs));
      streams.push_back(&rig.adopt(LooseStream(std::move(mine))));
      streams.back()->receive();
    }
    rig.settle();
  }
  void speak() {
    for (Fd& peer : peers) EXPECT_EQ(::send(peer.get(), "ping", 4, 0), 4);
  }
  // Makes each stream answer everything it receives with `text`, from now on.
  void answer(const std::string& text) {
    for (StreamLog* stream : streams) stream->when_received = [stream, text] { stream->send(text); };
  }
  std::vector<Fd> peers;
  std::vector<StreamLog*> streams;
};

// The answers of a turn are sent together, except for that of the last event, which is sent at once.
TEST_F(UringPollerTest, small_answers_of_a_turn_all_arrive) {
  Crowd crowd(rig(), 100);
  crowd.answer("pong");
  for (int round = 1; round <= 20; ++round) {
    crowd.speak();
    ASSERT_TRUE(rig().run_until([&] {
      return std::ranges::all_of(crowd.streams, [round](StreamLog* stream) {
        return stream->received.size() == 4U * static_cast<size_t>(round) && stream->queued() == 0;
      });
    }));
    for (Fd& peer : crowd.peers) ASSERT_EQ(read_bytes(peer.get()), "pong");
  }
}

TEST_F(UringPollerTest, what_follows_an_answer_in_a_batch_does_not_overtake_it) {
  Crowd crowd(rig(), 3);
  const std::string big = pattern(100'000);
  StreamLog& first = *crowd.streams[0];
  first.when_received = [&] { first.send("one,"); };
  crowd.streams[1]->when_received = [&] {
    first.send("two,");
    first.send(big);
    first.shutdown_send();
  };
  crowd.speak();
  std::string got;
  ASSERT_TRUE(rig().run_beside([&] {
    got += read_bytes(crowd.peers[0].get());
    return got.size() >= 8 + big.size();
  }));
  const std::string one_first = "one,two," + big;
  EXPECT_TRUE(same_bytes(got, one_first));
}

// If the kernel does not take a batched answer, or only a part of it, the rest is sent later and in order.
TEST_F(UringPollerTest, batched_answers_to_who_does_not_read_wait_for_room) {
  Crowd crowd(rig(), 3);
  const std::string line = pattern(2000);
  constexpr size_t kRounds = 1000;
  crowd.answer(line);
  for (size_t round = 1; round <= kRounds; ++round) {
    crowd.speak();
    ASSERT_TRUE(rig().run_until([&] {
      return std::ranges::all_of(crowd.streams,
                                 [round](StreamLog* stream) { return stream->received.size() == 4 * round; });
    }));
  }
  EXPECT_GT(crowd.streams[0]->queued(), 0U);
  EXPECT_GT(rig().stats().short_sends, 0U);
  std::array<std::string, 3> got;
  ASSERT_TRUE(rig().run_beside([&] {
    for (size_t i = 0; i < got.size(); ++i) got[i] += read_bytes(crowd.peers[i].get());
    return std::ranges::all_of(got, [&](const std::string& bytes) { return bytes.size() == kRounds * line.size(); });
  }));
  std::string wanted;
  for (size_t i = 0; i < kRounds; ++i) wanted += line;
  for (const std::string& bytes : got) EXPECT_TRUE(same_bytes(bytes, wanted));
}

TEST_F(UringPollerTest, stream_closed_in_the_turn_that_answered_it_has_answered) {
  Crowd crowd(rig(), 4);
  crowd.answer("last");
  // Two of the streams are closed before the batch with their answers is submitted.
  crowd.streams[3]->when_received = [&] {
    crowd.streams[0]->close();
    crowd.streams[1]->close();
  };
  crowd.speak();
  ASSERT_TRUE(rig().run_until([&] { return crowd.streams[0]->closed && crowd.streams[1]->closed; }));
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(read_bytes(crowd.peers[i].get()), "last");
}

TEST_F(UringPollerTest, peer_that_is_gone_fails_the_answer_in_a_batch) {
  Crowd crowd(rig(), 3);
  crowd.answer("pong");
  crowd.speak();
  for (Fd& peer : crowd.peers) peer.reset();
  ASSERT_TRUE(rig().run_until([&] {
    return std::ranges::all_of(crowd.streams, [](StreamLog* stream) { return stream->send_failures == 1; });
  }));
  for (StreamLog* stream : crowd.streams) EXPECT_EQ(stream->queued(), 0U);
}

TEST_F(UringPollerTest, detached_with_an_answer_in_a_batch_it_leaves_first) {
  Crowd crowd(rig(), 3);
  StreamLog& leaver = *crowd.streams[0];
  leaver.when_received = [&] {
    leaver.send("before, ");
    leaver.detach();
  };
  crowd.speak();
  ASSERT_TRUE(rig().run_until([&] { return leaver.loose.has_value(); }));
  StreamLog& adopted = rig().adopt(std::move(*leaver.loose));
  adopted.send("after");
  adopted.shutdown_send();
  std::string got;
  ASSERT_TRUE(rig().run_beside([&] { return (got += read_bytes(crowd.peers[0].get())).size() == 13; }));
  EXPECT_EQ(got, "before, after");
}

// Closing many streams takes completions off the ring to make room for requests. These are handled before the outcomes
// of the sends that are made meanwhile. Each answer keeps its block until its outcome is known: a storm of 4500 answers
// once held 30 MB.
TEST_F(UringPollerTest, answers_in_a_storm_of_closes_keep_few_blocks) {
  constexpr size_t kStay = 300;
  Crowd crowd(rig(), 400);
  const uint64_t before = BlockPool::here().stats().blocks_in_use;
  uint64_t most = 0;
  for (StreamLog* stream : crowd.streams) {
    stream->when_received = [stream, &most] {
      stream->send("pong");
      most = std::max(most, BlockPool::here().stats().blocks_in_use);
    };
  }
  crowd.streams[0]->when_received = [&] {
    for (size_t i = kStay; i < crowd.streams.size(); ++i) crowd.streams[i]->close();
  };
  crowd.speak();
  ASSERT_TRUE(rig().run_until([&] {
    return std::ranges::all_of(crowd.streams, [](StreamLog* stream) {
      return stream->closed || (stream->received.size() == 4 && stream->queued() == 0);
    });
  }));
  EXPECT_LE(most, before + 64 + 2);
  for (size_t i = 1; i < kStay; ++i) EXPECT_EQ(read_bytes(crowd.peers[i].get()), "pong");
}

// After a slow callback the answers are sent one by one. Some turns later they are sent together again.
TEST_F(UringPollerTest, answers_are_sent_together_again_some_turns_after_a_slow_callback) {
  Crowd crowd(rig(), 3);
  size_t answered = 0;
  bool slow = true;
  bool together = false;
  for (StreamLog* stream : crowd.streams) {
    stream->when_received = [&, stream] {
      const TimePoint until = monotonic_now() + std::chrono::milliseconds(slow ? 5 : 0);
      while (monotonic_now() < until) continue;
      size_t arrived = 0;
      for (Fd& peer : crowd.peers) {
        char byte = 0;
        arrived += ::recv(peer.get(), &byte, 1, MSG_PEEK) == 1 ? 1 : 0;
      }
      together = together || arrived < answered;
      stream->send("pong");
      ++answered;
    };
  }
  const auto play_round = [&] {
    answered = 0;
    crowd.speak();
    ASSERT_TRUE(rig().run_until([&] {
      return answered == crowd.streams.size() &&
             std::ranges::all_of(crowd.streams, [](StreamLog* stream) { return stream->queued() == 0; });
    }));
    for (Fd& peer : crowd.peers) ASSERT_EQ(read_bytes(peer.get()), "pong");
  };
  play_round();
  slow = false;
  together = false;
  for (int round = 0; round < 20; ++round) play_round();
  EXPECT_FALSE(together);
  // On a busy machine other turns may seem slow as well, and prolong the pause of batching.
  for (int round = 0; round < 100'000 && !together; ++round) play_round();
  EXPECT_TRUE(together);
}

// Closing takes two requests for each stream, which together are more than the ring's queue holds.
TEST_F(UringPollerTest, storm_of_closes_sends_fin_to_all) {
  Crowd crowd(rig(), 400);
  crowd.streams[0]->when_received = [&] {
    for (StreamLog* stream : crowd.streams) stream->close();
  };
  EXPECT_EQ(::send(crowd.peers[0].get(), "x", 1, 0), 1);
  ASSERT_TRUE(rig().run_until(
      [&] { return std::ranges::all_of(crowd.streams, [](StreamLog* stream) { return stream->closed; }); }));
  for (Fd& peer : crowd.peers) {
    char byte = 0;
    EXPECT_EQ(::recv(peer.get(), &byte, 1, 0), 0) << errno;
  }
}

TEST_F(UringPollerTest, connections_accepted_after_stop_are_delivered_and_counted) {
  constexpr size_t kClients = 5;
  AcceptLog& acceptor = rig().listen();
  std::vector<RawPeer> clients(kClients);
  for (auto& client : clients) client.connect(acceptor.address);
  ASSERT_TRUE(rig().stops(acceptor));
  EXPECT_EQ(acceptor.accept_count, kClients);
  EXPECT_EQ(rig().stats().accepted_late, kClients);
}

// When the peer has sent its FIN, a poll by the kernel for room to send would complete at once, again and again.
TEST_F(UringPollerTest, blocked_answer_to_a_half_closed_peer_costs_no_trips) {
  auto [mine, theirs] = test::socket_pair();
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

// Regression test, with one timer of an hour and many short ones. At each change between them the kernel got the alarm
// of the hour once more and kept it for the hour. That made 150 alarms a second.
TEST_F(UringPollerTest, kernel_has_one_alarm_however_often_the_deadline_changes) {
  constexpr uint64_t kKey = 2;
  constexpr int kOften = 10;  // After so many waits with one deadline the deadline gets an alarm.
  const Result<std::unique_ptr<Poller>> made = UringPoller::make();
  ASSERT_TRUE(made);
  auto& poller = dynamic_cast<UringPoller&>(**made);
  const Fd ready(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
  std::array<PollEvent, 8> events;
  const TimePoint in_an_hour = monotonic_now() + std::chrono::hours(1);
  for (int cycle = 0; cycle < 20; ++cycle) {
    ASSERT_TRUE(poller.add(ready.get(), kKey, kReadable, false));
    for (int i = 0; i < kOften; ++i) poller.wait(events, in_an_hour);
    ASSERT_EQ(poller.alarms(), 1U);
    const TimePoint soon = monotonic_now() + std::chrono::milliseconds(1);
    for (int i = 0; i < kOften; ++i) poller.wait(events, soon);
    ASSERT_LE(poller.alarms(), 1U);
    poller.remove(ready.get(), kKey);
    while (poller.alarms() > 0) poller.wait(events, kNever);
    EXPECT_GE(monotonic_now(), soon);
  }
}

TEST_F(UringPollerTest, early_bytes_of_an_adopted_stream_come_first) {
  auto [mine, theirs] = test::socket_pair();
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
