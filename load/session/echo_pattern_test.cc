// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/echo_pattern.h>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

// Returns a Buffer that holds `text` in one part. If this Buffer is appended to another one, the text stays a separate
// part, even if it is short.
Buffer part_of(std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  return {BlockPool::here().wrap(share_bytes(std::string(text)), 0, size), 0, size};
}

// Returns the `size` bytes that an echo server sends back, starting with byte `position` of a message. The Buffer
// consists of parts of at most `part` bytes.
Buffer echoed(const EchoPattern& pattern, size_t position, size_t size, size_t part) {
  Buffer bytes;
  for (size_t i = 0; i < size;) {
    std::string text;
    for (; text.size() < part && i < size; ++i) text += pattern.block()[(position + i) % pattern.size()];
    bytes.append(part_of(text));
  }
  return bytes;
}

TEST(EchoPattern, byte_i_is_i_mod_128) {
  const EchoPattern pattern(300);
  ASSERT_EQ(pattern.block().size(), 300U);
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(pattern.block()[i], static_cast<char>(i % 128));
}

TEST(EchoPattern, a_message_is_one_block_whatever_its_size) {
  for (const size_t size : {1, 64, 4096, 4097, 16384, 1 << 20}) {
    const EchoPattern pattern(size);
    EXPECT_EQ(pattern.message().to_string(), pattern.block()) << size;
  }
}

TEST(EchoPattern, a_chunk_may_reach_into_the_next_block) {
  const EchoPattern pattern(200);
  for (const size_t position : {0, 1, 127, 199}) {
    for (const size_t size : {1, 73, 200}) {
      EXPECT_TRUE(pattern.matches(echoed(pattern, position, size, size), position)) << position << ' ' << size;
    }
  }
}

TEST(EchoPattern, chunks_in_many_parts_are_compared_too) {
  const EchoPattern pattern(200);
  for (const size_t part : {3, 100}) {
    Buffer bytes = echoed(pattern, 150, 199, part);
    ASSERT_FALSE(bytes.is_contiguous());
    EXPECT_TRUE(pattern.matches(bytes, 150));
    EXPECT_FALSE(pattern.matches(bytes, 151));
  }
}

TEST(EchoPattern, one_changed_byte_is_found) {
  const EchoPattern pattern(200);
  for (const size_t wrong : {0, 42, 199}) {
    std::string text(pattern.block());
    text[wrong] = static_cast<char>(text[wrong] ^ 1);
    const Buffer bytes(text);
    EXPECT_FALSE(pattern.matches(bytes, 0)) << wrong;
    EXPECT_EQ(pattern.matching_bytes(bytes, 0), wrong);
    Buffer parts = part_of(std::string_view(text).substr(0, 100));
    parts.append(part_of(std::string_view(text).substr(100)));
    ASSERT_FALSE(parts.is_contiguous());
    EXPECT_FALSE(pattern.matches(parts, 0)) << wrong;
  }
}

}  // namespace
}  // namespace peal::load
