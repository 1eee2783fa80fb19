// SPDX-License-Identifier: BSD-3-Clause
// Tests how much memory a Buffer holds.
#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>

namespace peal {
namespace {

class BufferMemory : public testing::Test {
 protected:
  uint64_t blocks_in_use() const { return BlockPool::here().stats().blocks_in_use - before_.blocks_in_use; }
  uint64_t bytes_in_use() const { return BlockPool::here().stats().bytes_in_use - before_.bytes_in_use; }
  static std::string text(size_t size, size_t seed = 0) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + (i * 7 + seed + i / 26) % 26);
    return bytes;
  }

 private:
  const BlockStats before_ = BlockPool::here().stats();
};

TEST_F(BufferMemory, little_that_is_moved_in_shares_a_block) {
  for (size_t size : {60U, 500U, 1'000U, 5'000U}) {
    Buffer buffer;
    std::string all;
    for (size_t i = 0; i < 1'000; ++i) {
      all += text(size, i);
      buffer.append(Buffer(text(size, i)));
    }
    EXPECT_LE(bytes_in_use(), 4 * buffer.size()) << size;
    EXPECT_LE(buffer.held_bytes(), bytes_in_use());
    EXPECT_GE(buffer.held_bytes(), buffer.size());
    EXPECT_EQ(buffer.to_string(), all);
  }
}

// Cuts messages out of received bytes and passes them on, as a relay does.
TEST_F(BufferMemory, little_does_not_keep_a_large_block_of_somebody_elses) {
  Buffer buffer;
  std::string all;
  for (size_t i = 0; i < 100; ++i) {
    Buffer received(text(kLargeBlockBytes, i));
    all += text(kLargeBlockBytes, i).substr(0, 700);
    buffer.append(received.take(300));
    buffer.append(received.take(400));
  }
  EXPECT_EQ(buffer.to_string(), all);
  EXPECT_LE(bytes_in_use(), 4 * buffer.size() + kLargeBlockBytes);
}

TEST_F(BufferMemory, parts_of_a_block_that_follow_each_other_become_one_again) {
  Buffer received(text(kLargeBlockBytes));
  const char* where = received.front().data();
  Buffer buffer;
  while (!received.empty()) buffer.append(received.take(1'024));
  EXPECT_EQ(buffer.front().data(), where);
  EXPECT_TRUE(buffer.is_contiguous());
  EXPECT_EQ(buffer.front(), text(kLargeBlockBytes));
  EXPECT_EQ(blocks_in_use(), 1U);
}

TEST_F(BufferMemory, held_bytes_are_whole_blocks_but_for_the_last) {
  Buffer buffer(text(10'000));
  EXPECT_EQ(buffer.held_bytes(), 10'000U);
  buffer.append(Buffer(text(15'000)));
  EXPECT_EQ(buffer.held_bytes(), kLargeBlockBytes + 15'000U);
  buffer.append(share_bytes(text(100'000)));
  EXPECT_EQ(buffer.held_bytes(), 2 * kLargeBlockBytes + 100'000U);
  buffer.prepare(1);
  EXPECT_EQ(buffer.held_bytes(), 2 * kLargeBlockBytes + 100'000U);
  buffer.append("!");
  EXPECT_EQ(buffer.held_bytes(), 2 * kLargeBlockBytes + 100'001U);
  Buffer more(text(15'000));
  more.append(Buffer(text(15'000)));
  buffer.append(std::move(more));
  EXPECT_EQ(buffer.held_bytes(), 4 * kLargeBlockBytes + 100'000U + 15'000U);
  buffer.consume(10'000 + 15'000);
  EXPECT_EQ(buffer.held_bytes(), 100'000U + 2 * kLargeBlockBytes + 15'000U);
  buffer.consume(100'001 + 15'000);
  EXPECT_EQ(buffer.held_bytes(), 15'000U);
}

}  // namespace
}  // namespace peal
