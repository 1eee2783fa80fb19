// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/uring/parts/send_batch.h>

#include <algorithm>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

constexpr uint64_t kLate = SendBatch::kLateCycles + 1;

class SendBatchTest : public testing::Test {
 protected:
  // Adds one send and submits it `cycles` later. Returns whether batching pauses then.
  bool play_turn(uint64_t cycles) {
    batch.add(now);
    now += cycles;
    return batch.finish(now);
  }
  unsigned wait_out_the_pause(uint64_t cycles_per_turn) {
    unsigned turns = 0;
    for (; batch.paused(); ++turns) batch.count_turn(now += cycles_per_turn);
    return turns;
  }

  SendBatch batch;
  uint64_t now = 1'000'000'000;
};

TEST_F(SendBatchTest, trip_is_due_when_it_is_full) {
  for (unsigned i = 1; i < SendBatch::kMostSends; ++i) EXPECT_FALSE(batch.add(now));
  EXPECT_TRUE(batch.add(now));
  EXPECT_FALSE(batch.finish(now));
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(batch.add(now));
}

TEST_F(SendBatchTest, trip_is_due_with_the_first_send_that_comes_late) {
  EXPECT_FALSE(batch.add(now));
  EXPECT_FALSE(batch.add(now + SendBatch::kMostCycles));
  EXPECT_TRUE(batch.add(now + SendBatch::kMostCycles + 1));
}

TEST_F(SendBatchTest, send_that_was_late_makes_a_pause) {
  EXPECT_FALSE(play_turn(SendBatch::kLateCycles));
  EXPECT_FALSE(batch.paused());
  EXPECT_TRUE(play_turn(kLate));
  EXPECT_EQ(wait_out_the_pause(1000), SendBatch::kFewestTurns);
  EXPECT_FALSE(play_turn(1000));
}

TEST_F(SendBatchTest, late_again_soon_it_pauses_for_twice_as_long) {
  EXPECT_TRUE(play_turn(kLate));
  unsigned turns = SendBatch::kFewestTurns;
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(wait_out_the_pause(kLate), turns);
    EXPECT_TRUE(play_turn(kLate));
    turns = std::min(turns * 2, SendBatch::kMostTurns);
  }
}

TEST_F(SendBatchTest, late_again_after_a_long_time_it_pauses_as_at_first) {
  EXPECT_TRUE(play_turn(kLate));
  wait_out_the_pause(1000);
  now += 1'000'000'000;
  EXPECT_TRUE(play_turn(kLate));
  EXPECT_EQ(wait_out_the_pause(1000), SendBatch::kFewestTurns);
}

}  // namespace
}  // namespace peal::detail
