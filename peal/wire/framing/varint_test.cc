// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/framing/varint.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using namespace std::string_literals;

std::string varint(uint64_t value) {
  std::string text;
  append_varint(text, value);
  return text;
}

// The smallest and the largest value of each size, and values in between.
std::vector<uint64_t> values_of_every_size() {
  std::vector<uint64_t> values = {0, 5, 150, 0x0102030405060708, UINT64_MAX / 3, UINT64_MAX - 1, UINT64_MAX};
  for (size_t bits = 7; bits <= 63; bits += 7) {
    const uint64_t first = uint64_t{1} << bits;
    values.insert(values.end(), {first - 1, first, first + 1});
  }
  return values;
}

TEST(Varint, the_examples_of_the_protobuf_documentation) {
  EXPECT_EQ(varint(0), "\0"s);
  EXPECT_EQ(varint(1), "\x01");
  EXPECT_EQ(varint(150), "\x96\x01");
  EXPECT_EQ(varint(static_cast<uint64_t>(int64_t{-2})), "\xfe" + std::string(8, '\xff') + "\x01");
  EXPECT_EQ(varint(UINT64_MAX), std::string(9, '\xff') + "\x01");
}

TEST(Varint, sizes_change_at_every_seventh_bit) {
  static_assert(varint_bytes(0) == 1 && varint_bytes(UINT64_MAX) == kVarintMaxBytes);
  for (size_t bytes = 1; bytes < kVarintMaxBytes; ++bytes) {
    const uint64_t next = uint64_t{1} << 7 * bytes;
    EXPECT_EQ(varint_bytes(next - 1), bytes);
    EXPECT_EQ(varint_bytes(next), bytes + 1);
  }
  for (const uint64_t value : values_of_every_size()) EXPECT_EQ(varint(value).size(), varint_bytes(value)) << value;
}

TEST(Varint, of_every_size_cut_at_every_byte) {
  test::GuardedBytes guarded(kVarintMaxBytes);
  for (const uint64_t value : values_of_every_size()) {
    const std::string written = varint(value);
    for (size_t size = 0; size < written.size(); ++size) {
      std::string_view bytes = guarded.hold(written.substr(0, size));
      EXPECT_EQ(peek_varint(bytes).state, FrameState::kMore) << value << " in " << size;
      EXPECT_EQ(read_varint(bytes), std::nullopt);
      EXPECT_EQ(bytes.size(), size) << "nothing is removed";
      Buffer input = test::in_parts(bytes, 1);
      EXPECT_EQ(read_varint(input), std::nullopt);
      EXPECT_EQ(input.size(), size) << "nothing is removed";
    }
    std::string_view bytes = guarded.hold(written);
    EXPECT_EQ(peek_varint(bytes).bytes, written.size());
    EXPECT_EQ(read_varint(bytes), value);
    EXPECT_TRUE(bytes.empty());
  }
}

TEST(Varint, one_after_the_other_in_blocks_of_every_size) {
  const std::vector<uint64_t> values = values_of_every_size();
  Buffer output;
  for (const uint64_t value : values) append_varint(output, value);
  const std::string stream = output.to_string();
  for (size_t part = 1; part <= stream.size(); ++part) {
    Buffer input = test::in_parts(stream, part);
    for (const uint64_t value : values) {
      const VarintPeek found = peek_varint(input);
      ASSERT_EQ(found.state, FrameState::kWhole);
      ASSERT_EQ(found.value, value) << "in parts of " << part;
      ASSERT_EQ(found.bytes, varint_bytes(value));
      ASSERT_EQ(read_varint(input), value);
    }
    ASSERT_EQ(read_varint(input), std::nullopt);
    ASSERT_TRUE(input.empty());
  }
}

TEST(Varint, written_to_memory_that_ends_at_an_unmapped_page) {
  test::GuardedBytes guarded(kVarintMaxBytes);
  for (const uint64_t value : values_of_every_size()) {
    const std::string_view room = guarded.hold(std::string(varint_bytes(value), 'x'));
    EXPECT_EQ(write_varint(value, const_cast<char*>(room.data())), room.size());
    EXPECT_EQ(room, varint(value));
  }
}

TEST(Varint, more_bytes_than_the_value_needs) {
  for (size_t zeros = 0; zeros < kVarintMaxBytes - 1; ++zeros) {
    const std::string bytes = "\x85" + std::string(zeros, '\x80') + "\0 and more"s;
    const VarintPeek found = peek_varint(bytes);
    EXPECT_EQ(found.state, FrameState::kWhole) << zeros;
    EXPECT_EQ(found.value, 5U);
    EXPECT_EQ(found.bytes, zeros + 2);
  }
}

TEST(Varint, bytes_that_are_no_varint_of_64_bits) {
  const std::string nine(9, '\xff');
  EXPECT_EQ(peek_varint(nine).state, FrameState::kMore) << "the tenth byte decides";
  EXPECT_EQ(peek_varint(nine + "\0"s).value, UINT64_MAX >> 1);
  EXPECT_EQ(peek_varint(nine + "\x01").value, UINT64_MAX);
  for (const std::string& last : {"\x02"s, "\x7f"s, "\x80"s, "\x81"s, "\xff"s, "\x80\x00"s, "\x81\x01"s}) {
    for (size_t part = 1; part <= 11; ++part) {
      Buffer input = test::in_parts(nine + last, part);
      EXPECT_EQ(peek_varint(input).state, FrameState::kTooLong);
      EXPECT_EQ(read_varint(input), std::nullopt);
      EXPECT_EQ(input.to_string(), nine + last) << "nothing is removed";
    }
    const std::string text = nine + last;
    EXPECT_EQ(peek_varint(text).state, FrameState::kTooLong);
    EXPECT_EQ(peek_varint(text).bytes, 0U);
  }
}

}  // namespace
}  // namespace peal
