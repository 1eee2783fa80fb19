// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/assert.h>

#include <string>

#include <gtest/gtest.h>

namespace peal {
namespace {

class AssertDeath : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST(Assert, a_condition_that_holds_evaluates_no_argument) {
  int evaluated = 0;
  PEAL_ASSERT(evaluated == 0, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(Assert, is_an_expression) {
  const bool on = true;
  const auto check = [&] { return PEAL_ASSERT(on, "off"); };
  check();
}

TEST_F(AssertDeath, prints_where_what_and_the_values_then_aborts) {
  const int size = 7, capacity = 5;
  EXPECT_EXIT(PEAL_ASSERT(size <= capacity, "a slice of {} bytes in a block of {}", size, capacity),
              testing::KilledBySignal(SIGABRT),
              "assert_test.cc:[0-9]+: assertion failed: size <= capacity: a slice of 7 bytes in a block of 5\n");
}

TEST_F(AssertDeath, controls_in_a_value_are_question_marks) {
  const std::string text = "a\nb\x1b[2J";
  EXPECT_EXIT(PEAL_ASSERT(text.empty(), "'{}'", text), testing::KilledBySignal(SIGABRT), "'a.b.\\[2J'\n$");
}

TEST_F(AssertDeath, a_sentence_longer_than_its_room_is_cut) {
  const std::string text(100'000, 'x');
  EXPECT_EXIT(PEAL_ASSERT(text.empty(), "{}", text), testing::KilledBySignal(SIGABRT),
              "assertion failed: text.empty\\(\\): x+\n");
}

}  // namespace
}  // namespace peal
