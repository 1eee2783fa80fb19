// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/memory/when_released.h>

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

TEST(WhenReleasedTest, the_step_follows_the_last_of_several_copies) {
  int steps = 0;
  std::vector<std::shared_ptr<void>> copies(3, run_when_released([&] { ++steps; }));
  while (copies.size() > 1) copies.pop_back();
  EXPECT_EQ(steps, 0);
  copies.clear();
  EXPECT_EQ(steps, 1);
}

TEST(WhenReleasedTest, what_the_step_has_captured_dies_after_it) {
  auto captured = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = captured;
  int seen = 0;
  std::shared_ptr<void> held = run_when_released([&seen, captured = std::move(captured)] { seen = *captured; });
  EXPECT_FALSE(watched.expired());
  held.reset();
  EXPECT_EQ(seen, 7);
  EXPECT_TRUE(watched.expired());
}

TEST(WhenReleasedTest, the_pointer_is_found_by_its_key) {
  int place = 0;
  EXPECT_EQ(run_when_released([] {}, &place).get(), &place);
  EXPECT_EQ(run_when_released([] {}).get(), nullptr);
}

}  // namespace
}  // namespace peal
