// SPDX-License-Identifier: BSD-3-Clause
#include <peal/process/parts/respawn_policy.h>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RespawnOptions options() {
  RespawnOptions options;
  options.first_pause = milliseconds(100);
  options.longest_pause = milliseconds(500);
  options.quiet_while = seconds(30);
  options.most_deaths = 6;
  return options;
}

TEST(RespawnPolicy, first_death_is_an_accident_the_next_wait_longer_and_too_many_are_the_end) {
  RespawnPolicy policy(options());
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(0));
  EXPECT_EQ(policy.died(seconds(1)), milliseconds(100));
  EXPECT_EQ(policy.died(seconds(29)), milliseconds(200));
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(400));
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(500));
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(500));
  EXPECT_EQ(policy.died(seconds(0)), std::nullopt);
}

TEST(RespawnPolicy, a_worker_that_was_well_for_a_while_ends_the_row) {
  RespawnPolicy policy(options());
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(policy.died(seconds(30)), milliseconds(0));
    EXPECT_EQ(policy.died(seconds(0)), milliseconds(100));
    EXPECT_EQ(policy.died(seconds(0)), milliseconds(200));
  }
}

TEST(RespawnPolicy, pauses_without_end) {
  RespawnOptions ever = options();
  ever.first_pause = ever.longest_pause = Duration::max();
  RespawnPolicy policy(ever);
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(0));
  EXPECT_EQ(policy.died(seconds(0)), Duration::max());
  EXPECT_EQ(policy.died(seconds(0)), Duration::max());
}

TEST(RespawnPolicy, first_pause_is_not_longer_than_the_longest) {
  RespawnOptions odd = options();
  odd.first_pause = seconds(1);
  RespawnPolicy policy(odd);
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(0));
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(500));
  EXPECT_EQ(policy.died(seconds(0)), milliseconds(500));
}

}  // namespace
}  // namespace peal::detail
