// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/utf8.h>

#include <string>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

std::string encoded(uint32_t point) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f))};
  if (point < 0x10000) {
    return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f))};
  }
  return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)), byte(0x80 | (point >> 6 & 0x3f)),
          byte(0x80 | (point & 0x3f))};
}

TEST(Utf8, every_code_point_but_the_surrogates) {
  for (uint32_t point = 0; point <= 0x10ffff; ++point) {
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    ASSERT_EQ(is_utf8(encoded(point)), !surrogate) << std::hex << point;
  }
  EXPECT_FALSE(is_utf8(encoded(0x110000)));
}

// Compares the answers for all texts of two bytes with the rules of RFC 3629 4.
TEST(Utf8, every_pair_of_bytes) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const bool two = first >= 0xc2 && first <= 0xdf && second >= 0x80 && second <= 0xbf;
      ASSERT_EQ(is_utf8(text), two || (first < 0x80 && second < 0x80)) << first << ' ' << second;
    }
  }
}

TEST(Utf8, cut_anywhere_and_refused_at_the_first_byte_that_cannot_be) {
  const std::string good = "a\xc3\xa4-\xe2\x82\xac-\xf0\x9f\x98\x80 and a long enough end";
  test::GuardedBytes guarded(100);
  for (size_t cut = 0; cut <= good.size(); ++cut) {
    Utf8Checker checker;
    EXPECT_TRUE(checker.take(guarded.hold(good.substr(0, cut))));
    EXPECT_TRUE(checker.take(guarded.hold(good.substr(cut))));
    EXPECT_TRUE(checker.whole());
  }
  Utf8Checker checker;
  EXPECT_TRUE(checker.take("\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4"));
  EXPECT_FALSE(checker.whole());
  EXPECT_FALSE(checker.take("\x90"));  // beyond U+10FFFF, whatever follows
  checker.clear();
  EXPECT_TRUE(checker.take("\xed"));
  EXPECT_FALSE(checker.take("\xa0"));  // a surrogate
}

TEST(Utf8, one_bad_byte_at_every_place_of_a_long_text) {
  for (size_t at = 0; at < 100; ++at) {
    std::string text(100, 'x');
    EXPECT_TRUE(is_utf8(text));
    text[at] = '\x80';
    EXPECT_FALSE(is_utf8(text)) << at;
  }
}

}  // namespace
}  // namespace peal
