// SPDX-License-Identifier: BSD-3-Clause
// The expected values come from printed tables and from scipy.
#include <load/statistics/significance.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peal::load {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Significance, the_tables_of_student_and_of_the_binomial) {
  EXPECT_THAT(student_two_tails(2.228, 10), DoubleNear(0.05, 1e-4));
  EXPECT_THAT(student_two_tails(63.657, 1), DoubleNear(0.01, 1e-5));
  EXPECT_EQ(student_two_tails(0, 7), 1);
  EXPECT_THAT(student_at(0.05, 1), DoubleNear(12.7062, 1e-3));
  EXPECT_THAT(student_at(0.05, 1e6), DoubleNear(1.95996, 1e-4));
  // These are values of t for which 2 * scipy.stats.t.sf(t, freedom) is p. scipy's own isf() is exact only to 1e-8.
  EXPECT_THAT(student_at(0.05, 3), DoubleNear(3.1824463052837095, 1e-11));
  EXPECT_THAT(student_at(0.05, 7), DoubleNear(2.3646242515927844, 1e-11));
  EXPECT_THAT(student_at(0.01, 7), DoubleNear(3.4994832973504963, 1e-11));
  EXPECT_THAT(student_at(0.00125, 7), DoubleNear(5.2021888395072295, 1e-11));
  EXPECT_THAT(student_at(0.0182, 19), DoubleNear(2.583881195630914, 1e-11));
  EXPECT_THAT(student_at(0.05, 39), DoubleNear(2.022690920036761, 1e-11));
  // These values are 2 * scipy.stats.t.sf(|t|, freedom).
  EXPECT_THAT(student_two_tails(5, 7), DoubleNear(0.001565277953172824, 1e-12));
  EXPECT_THAT(student_two_tails(-1.3, 15), DoubleNear(0.21322332111326267, 1e-12));
  EXPECT_THAT(student_two_tails(12, 19), DoubleNear(2.5908946372221914e-10, 1e-20));
  EXPECT_THAT(binomial_at_most(3, 10, 0.5), DoubleNear(0.171875, 1e-12));
  EXPECT_THAT(binomial_at_most(999'000, 1'000'000, 0.999), DoubleNear(0.5, 0.02));
}

TEST(Significance, holms_adjustment) {
  EXPECT_THAT(holm(std::vector{0.04, 0.01, 0.5}), ElementsAre(0.08, 0.03, 0.5));
  EXPECT_THAT(holm(std::vector{0.9, 0.8}), ElementsAre(1, 1));
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace peal::load
