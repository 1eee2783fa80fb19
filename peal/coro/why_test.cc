// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/why.h>

#include <array>
#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

TEST(WhyTest, an_error_of_any_category_comes_back_as_it_was) {
  struct Category final : std::error_category {
    const char* name() const noexcept override { return "one of many"; }
    std::string message(int) const override { return {}; }
  };
  const std::array<Category, 20> categories;
  for (const Category& each : categories) {
    const std::error_code error(ETIMEDOUT, each);
    EXPECT_EQ(why_of(error).code(), error);
    EXPECT_NE(why_of(error), ETIMEDOUT) << "an errno value, where the category is another";
    EXPECT_NE(why_of(error), 0);
  }
}

TEST(WhyTest, an_errno_value_a_trouble_and_success_are_told_apart) {
  EXPECT_EQ(Why(ETIMEDOUT).code(), errno_code(ETIMEDOUT));
  EXPECT_EQ(why_of(std::error_code(EPIPE, std::system_category())), EPIPE);
  EXPECT_EQ(why_of(Trouble::kLoopStopped).code(), Trouble::kLoopStopped);
  EXPECT_NE(why_of(Trouble::kLoopStopped), static_cast<int>(Trouble::kLoopStopped));
  EXPECT_EQ(Why(), 0);
  EXPECT_FALSE(Why().code());
  EXPECT_EQ(why_of(std::error_code(0, trouble_category())), Why()) << "a value of 0 is a success in every category";
}

}  // namespace
}  // namespace peal::detail
