// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/printable.h>

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace peal {
namespace {

using std::string_literals::operator""s;

TEST(Printable, what_may_stand_in_a_line) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"GET /a?b=\"c\\d\"", "GET /a?b=\"c\\d\""},
      {"Gr\xc3\xbc\xc3\x9f"
       "e, \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x94\x94",
       "Gr\xc3\xbc\xc3\x9f"
       "e, \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x94\x94"},
      {"a\nb\r\nc\td\0e"s, "a\\x0Ab\\x0D\\x0Ac\\x09d\\x00e"},
      {"\x1b[2J\x7f", "\\x1B[2J\\x7F"},
      {"\xc2\x85\xc2\xa0", "\\xC2\\x85\xc2\xa0"},  // C1; a no-break space shows
      {"a\xe2\x80\xae"
       "b\xe2\x80\x8b\xe2\x80\xa8",
       "a\\xE2\\x80\\xAEb\\xE2\\x80\\x8B\\xE2\\x80\\xA8"},
      {"\xff\xc3", "\\xFF\\xC3"},
      {"\xc0\x8a\xed\xa0\x80", "\\xC0\\x8A\\xED\\xA0\\x80"},           // overlong newline, surrogate
      {"\xf4\x90\x80\x80\xe2\x82", "\\xF4\\x90\\x80\\x80\\xE2\\x82"},  // beyond U+10FFFF, cut short
  };
  for (const auto& [text, plain] : cases) {
    EXPECT_EQ(printable(text), plain);
    EXPECT_EQ(is_printable(text), text == plain) << plain;
    EXPECT_TRUE(is_printable(printable(text))) << plain;
  }
}

TEST(Printable, lines_and_quoted_text) {
  EXPECT_EQ(printable("a\nb\x1b", PrintableAs::kLines), "a\nb\\x1B");
  EXPECT_EQ(printable("\"a\\\xc3\xbc\n~", PrintableAs::kQuoted), "\\x22a\\x5C\\xC3\\xBC\\x0A~");
}

TEST(Printable, invisible_characters_are_those_of_the_list) {
  for (const char32_t code : {0xadU, 0x34fU, 0x200bU, 0x200fU, 0x2028U, 0x202eU, 0x2060U, 0x2069U, 0xfe0fU, 0xfeffU,
                              0x1d17aU, 0xe0000U, 0xe0fffU}) {
    EXPECT_TRUE(is_invisible_character(code)) << std::hex << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {0x20U, 0xacU, 0xaeU, 0x200aU, 0x2010U, 0x2027U, 0x202fU, 0x205fU, 0x2070U, 0xfe10U,
                              0xffa1U, 0xe1000U, 0x10ffffU}) {
    EXPECT_FALSE(is_invisible_character(code)) << std::hex << static_cast<uint32_t>(code);
  }
}

}  // namespace
}  // namespace peal
