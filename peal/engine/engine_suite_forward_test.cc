// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, forwarding one stream to another inside the kernel. An engine that cannot do it says so
// and does nothing. The others move every byte, in order, and no faster than the receiver takes them.
#include <string>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

// Four streams: source -> from => to -> sink. Bytes that `from` receives are forwarded to `to`.
class EngineForward : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto first = rig().pair(kTightBuffers, kTightBuffers);
    auto second = rig().pair(kTightBuffers, kTightBuffers);
    source = &first.client;
    from = &first.server;
    to = &second.client;
    sink = &second.server;
  }
  bool forward() {
    from->receive();
    return rig().engine().forward(from->id, to->id);
  }
  uint64_t moved() { return rig().engine().forwarded_bytes(from->id); }

  StreamLog* source = nullptr;
  StreamLog* from = nullptr;
  StreamLog* to = nullptr;
  StreamLog* sink = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Engines, EngineForward, testing::ValuesIn(every_engine()), engine_label);

#define PEAL_FORWARD_OR_SKIP() \
  if (!forward()) GTEST_SKIP() << GetParam() << " does not forward"

TEST_P(EngineForward, refusing_leaves_the_stream_as_it_was) {
  if (forward()) GTEST_SKIP() << GetParam() << " forwards";
  source->send("by hand");
  ASSERT_TRUE(rig().run_until([&] { return from->received == "by hand"; }));
  EXPECT_EQ(moved(), 0U);
  EXPECT_EQ(to->queued(), 0U);
}

TEST_P(EngineForward, moves_every_byte_and_the_end_after_them) {
  PEAL_FORWARD_OR_SKIP();
  const std::string bytes = pattern(5'000'000);
  sink->receive();
  from->when_ended = [&] { to->shutdown_send(); };
  source->send_blocks(Buffer(bytes));
  source->shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return sink->ended; }));
  EXPECT_TRUE(same_bytes(sink->received, bytes));
  EXPECT_EQ(from->receive_count, 0U);
  EXPECT_FALSE(from->end_error);
  EXPECT_EQ(moved(), bytes.size());
  EXPECT_EQ(rig().stats().forwarded_bytes, bytes.size());
  EXPECT_EQ(to->send_failures, 0);
}

TEST_P(EngineForward, what_had_arrived_before_goes_too) {
  source->send("early bird");
  rig().settle();
  PEAL_FORWARD_OR_SKIP();
  sink->receive();
  ASSERT_TRUE(rig().run_until([&] { return sink->received == "early bird"; }));
  source->send(", late bird");
  ASSERT_TRUE(rig().run_until([&] { return sink->received == "early bird, late bird"; }));
}

TEST_P(EngineForward, both_ways_at_once) {
  PEAL_FORWARD_OR_SKIP();
  to->receive();
  ASSERT_TRUE(rig().engine().forward(to->id, from->id));
  EXPECT_FALSE(rig().engine().forward(to->id, from->id)) << "forwarded twice";
  const std::string there = pattern(2'000'000);
  const std::string back = pattern(1'500'001);
  from->when_ended = [&] { to->shutdown_send(); };
  to->when_ended = [&] { from->shutdown_send(); };
  source->receive();
  sink->receive();
  source->send_blocks(Buffer(there));
  source->shutdown_send();
  sink->send_blocks(Buffer(back));
  sink->shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return source->ended && sink->ended; }));
  EXPECT_TRUE(same_bytes(sink->received, there));
  EXPECT_TRUE(same_bytes(source->received, back));
}

TEST_P(EngineForward, slow_receiver_stops_the_reading) {
  PEAL_FORWARD_OR_SKIP();
  const std::string bytes = pattern(3'000'000);
  source->send_blocks(Buffer(bytes));
  rig().settle();
  EXPECT_GT(source->queued(), 1'000'000U) << "a receiver that takes nothing stopped nobody";
  EXPECT_LE(to->queued(), 64U * 1024);
  uint64_t waits = rig().stats().waits;
  rig().settle();
  EXPECT_LE(rig().stats().waits - waits, 10U) << "waiting for the receiver spins";
  sink->receive();
  ASSERT_TRUE(rig().run_until([&] { return sink->received.size() == bytes.size(); }));
  EXPECT_TRUE(same_bytes(sink->received, bytes));
}

TEST_P(EngineForward, ended_by_a_pause_and_what_was_taken_still_arrives) {
  PEAL_FORWARD_OR_SKIP();
  const std::string bytes = pattern(1'000'000);
  source->send_blocks(Buffer(bytes));
  source->shutdown_send();
  rig().settle();
  from->receive(false);
  EXPECT_LT(moved(), bytes.size());
  const uint64_t taken = moved();
  to->send("|");
  to->shutdown_send();
  sink->receive();
  ASSERT_TRUE(rig().run_until([&] { return sink->ended; }));
  EXPECT_TRUE(same_bytes(sink->received, bytes.substr(0, taken) + "|"));
  EXPECT_EQ(moved(), taken);
  from->receive();
  ASSERT_TRUE(rig().run_until([&] { return from->ended; }));
  EXPECT_TRUE(same_bytes(from->received, bytes.substr(taken)));
}

TEST_P(EngineForward, begun_again_after_a_pause) {
  PEAL_FORWARD_OR_SKIP();
  sink->receive();
  source->send("one ");
  ASSERT_TRUE(rig().run_until([&] { return sink->received == "one "; }));
  from->receive(false);
  source->send("two ");
  rig().settle();
  EXPECT_EQ(sink->received, "one ");
  ASSERT_TRUE(forward());
  ASSERT_TRUE(rig().run_until([&] { return sink->received == "one two "; }));
  EXPECT_EQ(moved(), 8U);
}

TEST_P(EngineForward, receiver_that_fails_is_told_and_the_sender_is_left_alone) {
  PEAL_FORWARD_OR_SKIP();
  sink->close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_until([&] { return sink->closed; }));
  source->send("anybody there?");
  ASSERT_TRUE(rig().run_until([&] { return to->send_failures > 0; }));
  EXPECT_FALSE(from->ended);
  source->send("hello?");
  rig().settle();
  EXPECT_EQ(from->receive_count, 0U) << "read on after the forwarding had ended";
  from->receive();
  ASSERT_TRUE(rig().run_until([&] { return from->received == "hello?"; }));
}

TEST_P(EngineForward, sender_that_resets_ends_with_the_error) {
  PEAL_FORWARD_OR_SKIP();
  source->close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_until([&] { return from->ended; }));
  EXPECT_EQ(from->end_error, std::errc::connection_reset);
  to->send("still here");
  sink->receive();
  ASSERT_TRUE(rig().run_until([&] { return sink->received == "still here"; }));
}

TEST_P(EngineForward, either_side_may_close_at_any_moment) {
  PEAL_FORWARD_OR_SKIP();
  for (int round = 0; round < 24; ++round) {
    auto first = rig().pair(kTightBuffers, kTightBuffers);
    auto second = rig().pair(kTightBuffers, kTightBuffers);
    first.server.receive();
    ASSERT_TRUE(rig().engine().forward(first.server.id, second.client.id));
    second.client.receive();
    ASSERT_TRUE(rig().engine().forward(second.client.id, first.server.id));
    first.client.send_blocks(Buffer(pattern(400'000)));
    second.server.send_blocks(Buffer(pattern(300'000)));
    if (round % 2 == 0) second.server.receive();
    for (int turn = 0; turn < round / 4; ++turn) rig().wait(Engine::kPollOnly);
    StreamLog& leaves = round % 4 < 2 ? first.server : second.client;
    StreamLog& stays = round % 4 < 2 ? second.client : first.server;
    if (round % 8 < 4) {
      leaves.close(round % 3 == 0 ? CloseHow::kReset : CloseHow::kNormal);
    } else {
      leaves.detach();
    }
    rig().settle();
    stays.close();
    ASSERT_TRUE(rig().run_until([&] { return stays.closed; }));
    if (!leaves.finished()) leaves.close();
    first.client.close();
    second.server.close();
    ASSERT_TRUE(rig().run_until([&] { return first.client.closed && second.server.closed && leaves.finished(); }));
  }
}

TEST_P(EngineForward, shut_in_the_middle) {
  PEAL_FORWARD_OR_SKIP();
  source->send_blocks(Buffer(pattern(1'000'000)));
  rig().settle();
  rig().shut();
  EXPECT_TRUE(from->closed && to->closed);
}

}  // namespace
}  // namespace peal
