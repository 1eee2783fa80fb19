// SPDX-License-Identifier: BSD-3-Clause
// Several clients sent requests in one turn of an io_uring engine. The engine held the first client's answer, to submit
// it together with the other answers in one system call. Then the callback of another client took half a second, so the
// first answer left half a second late. This happened in every turn. The engine cannot know that a callback will be
// slow, but it knows that an earlier one was slow. From then on it sends answers at once.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tests/support/engine_rig.h>
#include <tests/support/engines/socket_pair.h>

namespace peal {
namespace {

class AnswerBeforeASlowCallback : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, AnswerBeforeASlowCallback, testing::ValuesIn(engines_with_fds()), engine_label);

void be_slow() {
  const TimePoint until = monotonic_now() + std::chrono::milliseconds(5);
  while (monotonic_now() < until) continue;
}

struct Speaker {
  Fd peer;
  StreamLog* stream = nullptr;
  bool answered = false;  // true once its callback has sent the answer
};

TEST_P(AnswerBeforeASlowCallback, leaves_at_once_after_an_earlier_callback_was_slow) {
  EngineRig rig(GetParam());
  constexpr size_t kSlowRounds = 2;
  constexpr size_t kRounds = 20;
  size_t round = 0;
  std::vector<Speaker> speakers(4);
  for (Speaker& speaker : speakers) {
    auto [own, peer] = test::socket_pair();
    speaker.peer = std::move(peer);
    speaker.stream = &rig.adopt(LooseStream(std::move(own)));
    speaker.stream->receive();
    speaker.stream->when_received = [&] {
      if (round < kSlowRounds) be_slow();
      for (const Speaker& earlier : speakers) {
        if (round < kSlowRounds || !earlier.answered) continue;
        std::array<char, 8> room;
        EXPECT_EQ(::recv(earlier.peer.get(), room.data(), room.size(), MSG_PEEK), 4) << "an earlier answer is late";
      }
      speaker.stream->send("pong");
      speaker.answered = true;
    };
  }
  rig.settle();
  for (; round < kRounds; ++round) {
    for (Speaker& speaker : speakers) {
      speaker.answered = false;
      ASSERT_EQ(::send(speaker.peer.get(), "ping", 4, 0), 4);
    }
    ASSERT_TRUE(rig.run_until([&] {
      return std::ranges::all_of(
          speakers, [](const Speaker& speaker) { return speaker.answered && speaker.stream->queued() == 0; });
    }));
    for (Speaker& speaker : speakers) {
      std::array<char, 8> room;
      EXPECT_EQ(::recv(speaker.peer.get(), room.data(), room.size(), 0), 4);
    }
  }
}

}  // namespace
}  // namespace peal
