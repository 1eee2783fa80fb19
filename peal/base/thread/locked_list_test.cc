// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/thread/locked_list.h>

#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LockedList, taken_in_the_order_of_pushing_and_then_empty) {
  LockedList<std::unique_ptr<int>> list;
  for (int i = 1; i <= 3; ++i) list.push(std::make_unique<int>(i));
  EXPECT_EQ(list.size(), 3U);
  const auto all = list.take_all();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(*all[0], 1);
  EXPECT_EQ(*all[2], 3);
  EXPECT_THAT(list.take_all(), IsEmpty());
}

TEST(LockedList, a_visitor_may_use_the_list) {
  LockedList<int> list;
  list.push(1);
  list.push(2);
  list.for_each([&](int value) {
    list.push(value + 10);
    EXPECT_TRUE(list.remove(value));
  });
  EXPECT_THAT(list.snapshot(), ElementsAre(11, 12));
  EXPECT_FALSE(list.remove(1));
}

TEST(LockedList, only_the_first_of_equals_is_removed) {
  LockedList<int> list;
  for (const int value : {1, 2, 1}) list.push(value);
  EXPECT_TRUE(list.remove(1));
  EXPECT_THAT(list.snapshot(), ElementsAre(2, 1));
}

TEST(LockedList, pushed_by_many_threads_while_one_takes) {
  constexpr std::size_t kThreads = 3, kEach = 5'000;
  LockedList<int> list;
  std::vector<std::thread> pushers;
  for (std::size_t t = 0; t < kThreads; ++t) {
    pushers.emplace_back([&] {
      for (std::size_t i = 0; i < kEach; ++i) list.push(1);
    });
  }
  std::size_t taken = 0;
  while (taken < kThreads * kEach) {
    taken += list.take_all().size();
    std::this_thread::yield();
  }
  for (std::thread& pusher : pushers) pusher.join();
  EXPECT_EQ(taken, kThreads * kEach);
  EXPECT_EQ(list.size(), 0U);
}

}  // namespace
}  // namespace peal
