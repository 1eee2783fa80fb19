// SPDX-License-Identifier: BSD-3-Clause
#include <cli/one_of.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cli/words/word_walk.h>

namespace peal::cli {
namespace {

class OneOf : public testing::Test {
 protected:
  OneOf() : option_(*app_.add_option("--style", value_)->check(one_of({"callbacks", "coroutines"}))) {}

  // Returns the error message for the value `text`, or an empty text.
  std::string said_of(const std::string& text) {
    try {
      app_.parse(std::vector<std::string>{text, "--style"});  // CLI11 takes the words in reverse order
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return {};
  }

  CLI::App app_;
  std::string value_;
  const CLI::Option& option_;
};

TEST_F(OneOf, its_words_are_accepted) {
  EXPECT_EQ(said_of("coroutines"), "");
  EXPECT_EQ(value_, "coroutines");
}

TEST_F(OneOf, another_word_is_named_with_the_similar_one) {
  EXPECT_EQ(said_of("coroutine"),
            "--style: it takes callbacks or coroutines, not 'coroutine' (did you mean coroutines?)");
  EXPECT_EQ(said_of("fibers"), "--style: it takes callbacks or coroutines, not 'fibers'");
}

TEST_F(OneOf, its_words_are_known_to_completion) {
  EXPECT_EQ(choices_of(option_), (std::vector<std::string>{"callbacks", "coroutines"}));
}

}  // namespace
}  // namespace peal::cli
