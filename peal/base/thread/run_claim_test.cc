// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/thread/run_claim.h>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

TEST(RunClaim, one_run_at_a_time) {
  RunClaim claim;
  const uint64_t first = claim.take();
  EXPECT_NE(first, 0u);
  EXPECT_TRUE(claim.holds(first));
  EXPECT_EQ(claim.take(), 0u);
  claim.end(first);
  EXPECT_FALSE(claim.holds(first));
  EXPECT_NE(claim.take(), 0u);
}

TEST(RunClaim, end_of_an_old_run_does_not_end_the_next) {
  RunClaim claim;
  const uint64_t old = claim.take();
  claim.end();
  const uint64_t next = claim.take();
  claim.end(old);
  EXPECT_TRUE(claim.holds(next));
  EXPECT_FALSE(claim.holds(old));
}

TEST(RunClaim, where_there_is_no_run_there_is_nothing_to_end) {
  RunClaim claim;
  claim.end();
  claim.end(0);
  EXPECT_FALSE(claim.holds(0));
  EXPECT_NE(claim.take(), 0u);
}

}  // namespace
}  // namespace peal::detail
