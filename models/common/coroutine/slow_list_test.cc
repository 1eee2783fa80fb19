// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/slow_list.h>

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace peal::models {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kStart = TimePoint() + std::chrono::hours(1);

TEST(SlowListTest, node_without_progress_for_longest_is_late_first) {
  SlowList list(milliseconds(10));
  EXPECT_EQ(list.next(), kNever);
  EXPECT_EQ(list.take_late(kNever - milliseconds(1)), nullptr);
  SlowNode a, b, c;
  list.came_on(a, kStart);
  list.came_on(b, kStart + milliseconds(1));
  list.came_on(c, kStart + milliseconds(2));
  EXPECT_EQ(list.next(), kStart + milliseconds(10));
  list.came_on(a, kStart + milliseconds(3));
  EXPECT_EQ(list.next(), kStart + milliseconds(11));
  EXPECT_EQ(list.take_late(kStart + milliseconds(10)), nullptr);
  EXPECT_EQ(list.take_late(kStart + milliseconds(11)), &b);
  EXPECT_FALSE(b.linked());
  EXPECT_EQ(list.take_late(kStart + milliseconds(20)), &c);
  EXPECT_EQ(list.take_late(kStart + milliseconds(20)), &a);
  EXPECT_EQ(list.take_late(kStart + milliseconds(20)), nullptr);
  EXPECT_EQ(list.next(), kNever);
}

TEST(SlowListTest, node_that_left_or_was_destroyed_is_not_late) {
  SlowList list(milliseconds(10));
  SlowNode quick, slow;
  std::optional<SlowNode> dead(std::in_place);
  list.came_on(*dead, kStart);
  list.came_on(quick, kStart);
  list.came_on(slow, kStart);
  dead.reset();
  quick.unlink();
  quick.unlink();
  EXPECT_FALSE(quick.linked());
  EXPECT_EQ(list.take_late(kStart + milliseconds(10)), &slow);
  EXPECT_EQ(list.next(), kNever);
}

TEST(SlowListTest, without_a_timeout_no_node_is_late) {
  SlowList list(Duration::zero());
  SlowNode node;
  list.came_on(node, kStart);
  EXPECT_FALSE(node.linked());
  EXPECT_EQ(list.next(), kNever);
}

}  // namespace
}  // namespace peal::models
