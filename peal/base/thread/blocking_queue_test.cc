// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/thread/blocking_queue.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

TEST(BlockingQueue, first_in_is_first_out) {
  BlockingQueue<int> queue;
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(queue.put(i));
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue.take(), 1);
  EXPECT_EQ(queue.try_take(), 2);
  EXPECT_EQ(queue.take(), 3);
  EXPECT_EQ(queue.try_take(), std::nullopt);
}

TEST(BlockingQueue, a_taker_waits_for_what_comes) {
  BlockingQueue<int> queue;
  std::thread putter([&] { queue.put(7); });
  EXPECT_EQ(queue.take(), 7);
  putter.join();
}

TEST(BlockingQueue, a_taker_gives_up_at_its_deadline) {
  BlockingQueue<int> queue;
  const TimePoint deadline = monotonic_now() + milliseconds(2);
  EXPECT_EQ(queue.take(deadline), std::nullopt);
  EXPECT_GE(monotonic_now(), deadline);
  queue.put(1);
  EXPECT_EQ(queue.take(deadline), 1) << "what is there needs no time";
}

TEST(BlockingQueue, a_putter_waits_for_room) {
  BlockingQueue<int> queue(2);
  std::thread putter([&] {
    for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(queue.put(i));
  });
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_LE(queue.size(), 2U);
    EXPECT_EQ(queue.take(), i);
  }
  putter.join();
}

TEST(BlockingQueue, a_putter_that_gives_up_keeps_its_value) {
  BlockingQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.put(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.try_put(std::move(second)));
  EXPECT_FALSE(queue.put(std::move(second), monotonic_now() + milliseconds(2)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(**queue.take(), 1);
  EXPECT_TRUE(queue.try_put(std::move(second)));
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(**queue.take(), 2);
}

TEST(BlockingQueue, closed_gives_what_is_left_and_refuses_what_is_new) {
  BlockingQueue<int> queue;
  queue.put(1);
  EXPECT_FALSE(queue.closed());
  queue.close();
  queue.close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.put(2));
  EXPECT_EQ(queue.take(), 1);
  EXPECT_EQ(queue.take(), std::nullopt);
}

TEST(BlockingQueue, closing_wakes_all_who_wait) {
  BlockingQueue<int> empty, full(1);
  full.put(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(empty.take(), std::nullopt); });
    threads.emplace_back([&] { EXPECT_FALSE(full.put(1)); });
  }
  empty.close();
  full.close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(full.size(), 1U);
}

TEST(BlockingQueue, taking_all_makes_room_for_all) {
  BlockingQueue<int> queue(2);
  queue.put(1);
  queue.put(2);
  std::vector<std::thread> putters;
  for (int i = 0; i < 2; ++i) putters.emplace_back([&] { EXPECT_TRUE(queue.put(3)); });
  EXPECT_THAT(queue.take_all(), ElementsAre(1, 2));
  for (std::thread& putter : putters) putter.join();
  EXPECT_THAT(queue.take_all(), ElementsAre(3, 3));
  EXPECT_THAT(queue.take_all(), ElementsAre());
}

TEST(BlockingQueue, many_on_both_ends_lose_nothing_and_double_nothing) {
  constexpr int kThreads = 3, kEach = 4'000;
  BlockingQueue<int> queue(16);
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  std::vector<std::thread> putters, takers;
  for (int t = 0; t < kThreads; ++t) {
    putters.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) queue.put(t * kEach + i);
    });
    takers.emplace_back([&] {
      while (auto value = queue.take()) ++seen[static_cast<std::size_t>(*value)];
    });
  }
  for (std::thread& putter : putters) putter.join();
  queue.close();
  for (std::thread& taker : takers) taker.join();
  for (const auto& times : seen) ASSERT_EQ(times, 1);
}

TEST(BlockingQueueDeath, a_capacity_of_nothing_asserts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(BlockingQueue<int>(0), "needs a capacity above 0");
}

}  // namespace
}  // namespace peal
