// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/framing/integer_bytes.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

constexpr std::endian kBig = std::endian::big;
constexpr std::endian kLittle = std::endian::little;
const std::string kBytes = "\x81\x02\x03\x04\x05\x06\x07\x88";

template <size_t kWidth>
concept CanBeRead = requires(std::string_view& bytes) { read_integer<kWidth>(bytes); };
template <size_t kWidth>
concept CanBeAppended = requires(std::string& text, Buffer& output) {
  append_integer<kWidth>(text, 0);
  append_integer<kWidth>(output, 0);
};
static_assert(!CanBeRead<0> && CanBeRead<1> && CanBeRead<8> && !CanBeRead<9>);
static_assert(!CanBeAppended<0> && CanBeAppended<1> && CanBeAppended<8> && !CanBeAppended<9>);
static_assert(std::is_same_v<IntegerOfBytes<1>, uint8_t> && std::is_same_v<IntegerOfBytes<2>, uint16_t> &&
              std::is_same_v<IntegerOfBytes<3>, uint32_t> && std::is_same_v<IntegerOfBytes<4>, uint32_t> &&
              std::is_same_v<IntegerOfBytes<5>, uint64_t> && std::is_same_v<IntegerOfBytes<8>, uint64_t>);

template <size_t kWidth, std::endian kOrder>
void expect_both_ways(uint64_t value) {
  test::GuardedBytes guarded(kWidth);
  const std::string_view bytes = guarded.hold(kBytes.substr(0, kWidth));
  EXPECT_EQ((peek_integer<kWidth, kOrder>(bytes)), value) << kWidth;
  EXPECT_EQ((peek_integer<kWidth, kOrder>(bytes.substr(1))), std::nullopt) << kWidth;
  std::string text;
  append_integer<kWidth, kOrder>(text, value);
  EXPECT_EQ(text, kBytes.substr(0, kWidth));
  for (size_t part = 1; part <= kWidth; ++part) {
    Buffer input = test::in_parts(kBytes, part);
    EXPECT_EQ((peek_integer<kWidth, kOrder>(input)), value) << kWidth << " in parts of " << part;
    EXPECT_EQ(input.size(), kBytes.size()) << "a look takes nothing";
    EXPECT_EQ((read_integer<kWidth, kOrder>(input)), value) << kWidth << " in parts of " << part;
    EXPECT_EQ(input.to_string(), kBytes.substr(kWidth));
    append_integer<kWidth, kOrder>(input, value);
    EXPECT_EQ(input.to_string(), kBytes.substr(kWidth) + kBytes.substr(0, kWidth));
  }
  const uint64_t largest = UINT64_MAX >> (64 - 8 * kWidth);
  for (const uint64_t edge : {uint64_t{0}, uint64_t{1}, largest - 1, largest}) {
    Buffer output;
    append_integer<kWidth, kOrder>(output, edge);
    EXPECT_EQ(output.size(), kWidth);
    EXPECT_EQ((read_integer<kWidth, kOrder>(output)), edge) << kWidth;
  }
}

TEST(IntegerBytes, of_every_width_in_both_orders) {
  expect_both_ways<1, kBig>(0x81);
  expect_both_ways<2, kBig>(0x8102);
  expect_both_ways<3, kBig>(0x810203);
  expect_both_ways<4, kBig>(0x81020304);
  expect_both_ways<5, kBig>(0x8102030405);
  expect_both_ways<6, kBig>(0x810203040506);
  expect_both_ways<7, kBig>(0x81020304050607);
  expect_both_ways<8, kBig>(0x8102030405060788);
  expect_both_ways<1, kLittle>(0x81);
  expect_both_ways<2, kLittle>(0x0281);
  expect_both_ways<3, kLittle>(0x030281);
  expect_both_ways<4, kLittle>(0x04030281);
  expect_both_ways<5, kLittle>(0x0504030281);
  expect_both_ways<6, kLittle>(0x060504030281);
  expect_both_ways<7, kLittle>(0x07060504030281);
  expect_both_ways<8, kLittle>(0x8807060504030281);
}

TEST(IntegerBytes, too_few_bytes_are_none_and_stay) {
  std::string_view text = "\1\2\3";
  EXPECT_EQ(read_integer<4>(text), std::nullopt);
  EXPECT_EQ(text.size(), 3U);
  Buffer input = test::in_parts(text, 1);
  EXPECT_EQ(read_integer<4>(input), std::nullopt);
  EXPECT_EQ(input.size(), 3U);
  EXPECT_EQ(read_integer<1>(input), 1U);
  EXPECT_EQ(read_integer<2>(text), 0x102U);
  EXPECT_EQ(text, "\3");
  Buffer empty;
  EXPECT_EQ(peek_integer<1>(empty), std::nullopt);
}

TEST(IntegerBytes, blocks_are_joined_only_where_the_integer_lies_in_two) {
  Buffer input = test::in_parts(kBytes, 4);
  const char* arrived = input.front().data();
  EXPECT_EQ(peek_integer<4>(input), 0x81020304U);
  EXPECT_EQ(input.front().data(), arrived);
  EXPECT_EQ(input.front().size(), 4U);
  EXPECT_EQ(peek_integer<5>(input), 0x8102030405U);
  EXPECT_EQ(input.to_string(), kBytes);
}

template <size_t kWidth, std::endian kOrder>
void expect_too_large() {
  Buffer output("before");
  std::string text = "before";
  for (const uint64_t value : {(UINT64_MAX >> (64 - 8 * kWidth)) + 1, UINT64_MAX}) {
    EXPECT_THROW((append_integer<kWidth, kOrder>(output, value)), std::invalid_argument) << kWidth;
    EXPECT_THROW((append_integer<kWidth, kOrder>(text, value)), std::invalid_argument) << kWidth;
  }
  EXPECT_EQ(output.to_string(), "before");
  EXPECT_EQ(text, "before");
}

TEST(IntegerBytes, a_value_that_does_not_fit_throws_and_appends_nothing) {
  expect_too_large<1, kBig>();
  expect_too_large<2, kLittle>();
  expect_too_large<3, kBig>();
  expect_too_large<4, kLittle>();
  expect_too_large<5, kBig>();
  expect_too_large<6, kLittle>();
  expect_too_large<7, kBig>();
  expect_too_large<7, kLittle>();
}

TEST(IntegerBytes, signed_integers_are_cast_both_ways) {
  Buffer bytes;
  append_integer<2>(bytes, static_cast<uint16_t>(int16_t{-2}));
  append_integer<4, kLittle>(bytes, static_cast<uint32_t>(std::numeric_limits<int32_t>::min()));
  append_integer<8>(bytes, static_cast<uint64_t>(int64_t{-1}));
  EXPECT_EQ(bytes.to_string(), std::string("\xff\xfe\0\0\0\x80", 6) + std::string(8, '\xff'));
  EXPECT_EQ(static_cast<int16_t>(read_integer<2>(bytes).value()), -2);
  EXPECT_EQ(static_cast<int32_t>((read_integer<4, kLittle>(bytes).value())), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(static_cast<int64_t>(read_integer<8>(bytes).value()), -1);
  EXPECT_THROW(append_integer<2>(bytes, static_cast<uint64_t>(int16_t{-2})), std::invalid_argument) << "of 64 bits";
}

}  // namespace
}  // namespace peal
