// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/parse_text.h>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace peal {
namespace {

TEST(ParseText, integers_to_their_limits_and_no_further) {
  EXPECT_EQ(parse_text<int>("0"), 0);
  EXPECT_EQ(parse_text<int>("-12"), -12);
  EXPECT_EQ(parse_text<int>("007"), 7);
  EXPECT_EQ(parse_text<uint8_t>("255"), 255);
  EXPECT_EQ(parse_text<uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_text<int8_t>("-128"), -128);
  EXPECT_EQ(parse_text<int8_t>("-129"), std::nullopt);
  EXPECT_EQ(parse_text<uint16_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_text<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_text<uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_text<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_text<int>(std::string(100'000, '9')), std::nullopt);
}

TEST(ParseText, what_is_no_integer) {
  for (const std::string_view text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "one", "-", "--1", "1,000", "\t1"}) {
    EXPECT_EQ(parse_text<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_text<int>(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParseText, numbers_with_a_point) {
  EXPECT_EQ(parse_text<double>("1"), 1.0);
  EXPECT_EQ(parse_text<double>("-0.25"), -0.25);
  EXPECT_EQ(parse_text<double>("1e3"), 1000.0);
  EXPECT_EQ(parse_text<double>(".5"), 0.5);
  EXPECT_EQ(parse_text<float>("0.5"), 0.5F);
  for (const std::string_view text : {"", "nan", "inf", "-inf", "infinity", "1e999", "-1e999", "1,5", "+1", " 1", "1 ",
                                      "0x1p3", "1.5.2", "e3", "."}) {
    EXPECT_EQ(parse_text<double>(text), std::nullopt) << text;
  }
}

TEST(ParseText, bool_in_three_spellings_of_each) {
  for (const std::string_view text : {"true", "1", "on"}) EXPECT_EQ(parse_text<bool>(text), true) << text;
  for (const std::string_view text : {"false", "0", "off"}) EXPECT_EQ(parse_text<bool>(text), false) << text;
  for (const std::string_view text : {"", "True", "yes", "2", "on ", "00"})
    EXPECT_EQ(parse_text<bool>(text), std::nullopt) << text;
}

static_assert(ParsedFromText<unsigned long long> && ParsedFromText<int8_t> && !ParsedFromText<char>);

}  // namespace
}  // namespace peal
