// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/result.h>

#include <set>

#include <gtest/gtest.h>

namespace peal {
namespace {

TEST(Result, an_errno_keeps_the_system_s_sentence) {
  const Result<int> result = fail(EADDRINUSE);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), std::errc::address_in_use);
  EXPECT_EQ(result.error().message(), "Address already in use");
}

TEST(Result, a_trouble_compares_with_its_code_and_with_no_other) {
  const Result<void> result = fail(Trouble::kBadAddress);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), Trouble::kBadAddress);
  EXPECT_NE(result.error(), Trouble::kPathTooLong);
  EXPECT_NE(result.error(), errno_code(static_cast<int>(Trouble::kBadAddress)));
  EXPECT_STREQ(result.error().category().name(), "peal");
}

TEST(Result, every_trouble_has_a_sentence_of_its_own) {
  std::set<std::string> sentences;
  for (int value = 1; value <= static_cast<int>(Trouble::kBadMessage); ++value) {
    const std::string sentence = make_error_code(static_cast<Trouble>(value)).message();
    EXPECT_FALSE(sentence.starts_with("unknown")) << value;
    EXPECT_NE(sentence.back(), '.') << sentence;
    EXPECT_TRUE(sentences.insert(sentence).second) << sentence;
  }
  EXPECT_EQ(trouble_category().message(12345), "unknown peal error 12345");
}

}  // namespace
}  // namespace peal
