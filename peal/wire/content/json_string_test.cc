// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/json_string.h>

#include <gtest/gtest.h>

namespace peal {
namespace {

std::string written(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

TEST(JsonString, plain_text_stays_as_it_is) {
  EXPECT_EQ(written(""), "\"\"");
  EXPECT_EQ(written("GET /a?b=c"), "\"GET /a?b=c\"");
  EXPECT_EQ(written("\xC3\xA9t\xC3\xA9 \xF0\x9F\x98\x80"), "\"\xC3\xA9t\xC3\xA9 \xF0\x9F\x98\x80\"");
}

TEST(JsonString, quotes_and_control_characters_are_escaped) {
  EXPECT_EQ(written("a\"b\\c/"), R"("a\"b\\c/")");
  EXPECT_EQ(written(std::string_view("\0\x1f\n\x7f", 4)), R"("\u0000\u001f\u000a\u007f")");
  EXPECT_EQ(written("\xC2\x9B"), R"("\u009b")") << "a control character of C1";
  EXPECT_EQ(written("\xE2\x80\xAE\xE2\x80\xA8"), R"("\u202e\u2028")") << "it would turn the direction of the line";
  EXPECT_EQ(written("\xF3\xA0\x80\x81"), R"("\udb40\udc01")") << "a tag";
}

TEST(JsonString, bytes_that_are_not_utf8_are_replaced) {
  EXPECT_EQ(written("a\xFF"
                    "b\xC3"),
            "\"a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\"");
  EXPECT_EQ(written("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "a surrogate";
  EXPECT_EQ(written("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "an overlong form";
}

}  // namespace
}  // namespace peal
