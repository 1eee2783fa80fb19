// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/memory/buffer.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

// Checks that each test releases all blocks that it has acquired.
class BufferTest : public testing::Test {
 protected:
  void TearDown() override {
    BlockPool::here().trim(SIZE_MAX);
    EXPECT_EQ(BlockPool::here().stats().blocks_in_use, blocks_before_);
  }
  uint64_t blocks_in_use() const { return BlockPool::here().stats().blocks_in_use - blocks_before_; }
  uint64_t bytes_in_use() const { return BlockPool::here().stats().bytes_in_use - bytes_before_; }

  const uint64_t blocks_before_ = BlockPool::here().stats().blocks_in_use;
  const uint64_t bytes_before_ = BlockPool::here().stats().bytes_in_use;
};

std::string letters(size_t size, size_t seed = 0) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + seed + i / 26) % 26);
  return text;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(BufferTest, empty_one_holds_nothing) {
  Buffer buffer;
  EXPECT_TRUE(buffer.empty());
  EXPECT_FALSE(buffer.holds_blocks());
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.front(), "");
  EXPECT_EQ(buffer.view(), "");
  EXPECT_EQ(buffer.held_bytes(), 0U);
  EXPECT_EQ(buffer.to_string(), "");
  std::array<iovec, 2> parts{};
  EXPECT_EQ(buffer.gather(parts), 0U);
  buffer.consume(0);
  buffer.compact();
  buffer.clear();
  buffer.append(std::string_view{});
  buffer.append(Buffer{});
  buffer.append(share_bytes(""));
  buffer.append(SharedBytes());
  EXPECT_TRUE(buffer.take(0).empty());
  EXPECT_EQ(blocks_in_use(), 0U);
}

TEST_F(BufferTest, short_text_takes_a_small_block) {
  Buffer buffer("hello");
  EXPECT_EQ(bytes_in_use(), kSmallBlockBytes);
  EXPECT_TRUE(buffer.is_contiguous());
  buffer.append(" world");
  buffer.append(bytes_of("!"));
  EXPECT_EQ(buffer.front(), "hello world!");
  EXPECT_EQ(blocks_in_use(), 1U);
}

TEST_F(BufferTest, growing_chain_continues_in_large_blocks) {
  Buffer buffer(letters(500));
  buffer.append(letters(100));
  EXPECT_EQ(bytes_in_use(), kSmallBlockBytes + kLargeBlockBytes);
  EXPECT_EQ(buffer.to_string(), letters(500) + letters(100));
  Buffer big(letters(100'000));
  EXPECT_EQ(bytes_in_use(), kSmallBlockBytes + 6 * kLargeBlockBytes);
  EXPECT_EQ(big.to_string(), letters(100'000));
  EXPECT_FALSE(big.is_contiguous());
}

TEST_F(BufferTest, moving_moves_no_byte) {
  Buffer buffer(letters(50'000));
  const char* where = buffer.front().data();
  Buffer moved(std::move(buffer));
  EXPECT_EQ(moved.front().data(), where);
  EXPECT_FALSE(buffer.holds_blocks());
  buffer = Buffer("old");
  buffer = std::move(moved);
  EXPECT_EQ(buffer.to_string(), letters(50'000));
  Buffer& same = buffer;
  buffer = std::move(same);
  EXPECT_EQ(buffer.size(), 50'000U);
  Buffer other("x");
  buffer.swap(other);
  EXPECT_EQ(buffer.to_string(), "x");
  EXPECT_EQ(other.size(), 50'000U);
}

TEST_F(BufferTest, appending_a_buffer_moves_its_blocks) {
  Buffer buffer(letters(30'000));
  Buffer more(letters(45'000, 3));
  const char* where = more.front().data();
  uint64_t blocks = blocks_in_use();
  buffer.append(std::move(more));
  EXPECT_EQ(blocks_in_use(), blocks);
  EXPECT_EQ(buffer.to_string(), letters(30'000) + letters(45'000, 3));
  buffer.consume(30'000);
  EXPECT_EQ(buffer.front().data(), where);
  EXPECT_TRUE(more.empty());
  more.append("usable again");
  EXPECT_EQ(more.view(), "usable again");
}

TEST_F(BufferTest, consumed_blocks_go_home_at_once) {
  Buffer buffer(letters(3 * kLargeBlockBytes));
  EXPECT_EQ(blocks_in_use(), 3U);
  buffer.consume(kLargeBlockBytes - 1);
  EXPECT_EQ(blocks_in_use(), 3U);
  buffer.consume(1);
  EXPECT_EQ(blocks_in_use(), 2U);
  buffer.consume(kLargeBlockBytes + 5);
  EXPECT_EQ(blocks_in_use(), 1U);
  EXPECT_EQ(buffer.front(), letters(3 * kLargeBlockBytes).substr(2 * kLargeBlockBytes + 5));
  buffer.consume(buffer.size());
  EXPECT_FALSE(buffer.holds_blocks());
}

TEST_F(BufferTest, view_joins_only_what_straddles_blocks) {
  Buffer buffer(letters(kLargeBlockBytes));
  buffer.append(Buffer(letters(10'000, 9)));
  uint64_t allocations = BlockPool::here().stats().allocations;
  const char* where = buffer.front().data();
  EXPECT_EQ(buffer.view(kLargeBlockBytes).data(), where) << "within the first block";
  EXPECT_EQ(BlockPool::here().stats().allocations, allocations);
  std::string whole = letters(kLargeBlockBytes) + letters(10'000, 9);
  EXPECT_EQ(buffer.view(kLargeBlockBytes + 10), whole.substr(0, kLargeBlockBytes + 10));
  EXPECT_NE(buffer.front().data(), where);
  EXPECT_EQ(buffer.front().size(), kLargeBlockBytes + 10) << "no more than was asked for is copied";
  EXPECT_EQ(buffer.to_string(), whole);
  EXPECT_EQ(buffer.view(), whole);
  EXPECT_TRUE(buffer.is_contiguous());
}

TEST_F(BufferTest, take_shares_the_block_it_cuts) {
  Buffer buffer(letters(1000));
  const char* where = buffer.front().data();
  Buffer front = buffer.take(300);
  EXPECT_EQ(front.view(), letters(1000).substr(0, 300));
  EXPECT_EQ(front.front().data(), where);
  EXPECT_EQ(buffer.front().data(), where + 300);
  EXPECT_EQ(blocks_in_use(), 1U);
  front.append("beyond");  // must not overwrite bytes that the other buffer still refers to
  buffer.append("the end");
  EXPECT_EQ(front.to_string(), letters(1000).substr(0, 300) + "beyond");
  EXPECT_EQ(buffer.to_string(), letters(1000).substr(300) + "the end");
}

TEST_F(BufferTest, take_at_block_borders) {
  const std::string all = letters(3 * kLargeBlockBytes);
  for (size_t cut : {size_t{0}, size_t{1}, size_t{kLargeBlockBytes}, size_t{kLargeBlockBytes} + 1, all.size()}) {
    Buffer buffer(all);
    Buffer front = buffer.take(cut);
    EXPECT_EQ(front.to_string(), all.substr(0, cut));
    EXPECT_EQ(buffer.to_string(), all.substr(cut));
    EXPECT_EQ(front.size() + buffer.size(), all.size());
    EXPECT_EQ(buffer.empty(), !buffer.holds_blocks());
  }
}

TEST_F(BufferTest, prepared_room_is_written_and_committed) {
  Buffer buffer("head ");
  auto room = buffer.prepare(10'000);
  ASSERT_GE(room.size(), 10'000U);
  std::memset(room.data(), 'x', 10'000);
  buffer.commit(9'000);
  EXPECT_EQ(buffer.to_string(), "head " + std::string(9'000, 'x'));
  room = buffer.prepare(1);
  std::memcpy(room.data(), "y", 1);
  buffer.commit(1);
  EXPECT_EQ(buffer.size(), 9'006U);
  ASSERT_GE(buffer.prepare(1'000'000).size(), 1'000'000U);
  buffer.commit(0);
  EXPECT_EQ(buffer.size(), 9'006U);
}

TEST_F(BufferTest, room_that_was_never_filled_leaves_no_hole) {
  // If an empty part were not the last one, front() could be empty although the buffer is not.
  Buffer buffer;
  buffer.prepare(100);
  buffer.prepare(10'000);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(blocks_in_use(), 1U);
  buffer.append(Buffer("first"));
  EXPECT_EQ(buffer.front(), "first");
  EXPECT_TRUE(buffer.is_contiguous());
  buffer.prepare(10'000);
  buffer.append(Buffer("second"));
  buffer.prepare(30'000);
  buffer.append(share_bytes(letters(600)));
  buffer.prepare(1);
  Buffer empty;
  empty.prepare(1);
  buffer.append(std::move(empty));
  EXPECT_EQ(buffer.to_string(), "firstsecond" + letters(600));
  EXPECT_EQ(buffer.take(5).to_string(), "first");
  EXPECT_EQ(buffer.front(), "second");
  buffer.consume(6);
  EXPECT_EQ(buffer.front(), letters(600));
  buffer.consume(600);
  EXPECT_TRUE(buffer.empty());
  EXPECT_FALSE(buffer.holds_blocks());
}

TEST_F(BufferTest, small_remainder_moves_to_a_small_block) {
  Buffer buffer(letters(20'000));
  buffer.consume(19'900);
  EXPECT_EQ(bytes_in_use(), kLargeBlockBytes);
  buffer.compact();
  EXPECT_EQ(bytes_in_use(), kSmallBlockBytes);
  EXPECT_EQ(buffer.view(), letters(20'000).substr(19'900));
  const char* where = buffer.front().data();
  buffer.compact();
  EXPECT_EQ(buffer.front().data(), where) << "nothing to gain";
}

TEST_F(BufferTest, remainder_that_straddles_blocks_is_compacted_into_one) {
  Buffer buffer(letters(kLargeBlockBytes + 100));
  buffer.consume(kLargeBlockBytes - 100);
  buffer.compact();
  EXPECT_EQ(blocks_in_use(), 1U);
  EXPECT_EQ(bytes_in_use(), kSmallBlockBytes);
  EXPECT_EQ(buffer.view(), letters(kLargeBlockBytes + 100).substr(kLargeBlockBytes - 100));
}

TEST_F(BufferTest, large_remainder_stays_where_it_is) {
  Buffer buffer(letters(20'000));
  buffer.consume(20'000 - kSmallBlockBytes - 1);
  const char* where = buffer.front().data();
  buffer.compact();
  EXPECT_EQ(buffer.front().data(), where);
}

TEST_F(BufferTest, compacting_an_empty_one_gives_up_prepared_room) {
  Buffer buffer;
  buffer.prepare(10'000);
  EXPECT_TRUE(buffer.holds_blocks());
  buffer.compact();
  EXPECT_FALSE(buffer.holds_blocks());
}

TEST_F(BufferTest, gather_names_every_part_in_order) {
  Buffer buffer(letters(50'000));
  buffer.append(share_bytes(letters(1000)));
  std::array<iovec, 8> parts{};
  size_t count = buffer.gather(parts);
  EXPECT_EQ(count, 4U);
  std::string all;
  for (size_t i = 0; i < count; ++i) all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  EXPECT_EQ(all, buffer.to_string());
  EXPECT_EQ(buffer.gather(std::span(parts).first(2)), 2U);
  EXPECT_EQ(buffer.gather({}), 0U);
}

TEST_F(BufferTest, shared_bytes_are_never_written_over) {
  const std::string text = letters(kSmallBlockBytes + 1);
  SharedBytes shared = share_bytes(text);
  Buffer one;
  Buffer other;
  one.append(shared);
  other.append(shared);
  one.append(" by one");
  other.append(" by other");
  EXPECT_EQ(one.to_string(), text + " by one");
  EXPECT_EQ(other.to_string(), text + " by other");
  EXPECT_EQ(one.front().data(), reinterpret_cast<const char*>(shared->data()));
  one.clear();
  other.clear();
  EXPECT_EQ(shared.use_count(), 1);
}

TEST_F(BufferTest, shared_bytes_on_several_threads) {
  SharedBytes shared = share_bytes(letters(100'000));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([shared] {
      for (int round = 0; round < 200; ++round) {
        Buffer buffer;
        buffer.append(shared);
        buffer.append(shared);
        EXPECT_EQ(buffer.take(150'000).size(), 150'000U);
        EXPECT_EQ(buffer.view(), letters(100'000).substr(50'000));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared.use_count(), 1);
}

TEST_F(BufferTest, moved_whole_to_another_thread_and_used_there) {
  const std::string all = letters(70'000);
  Buffer back;
  std::thread([&, buffer = Buffer(all)]() mutable {
    Buffer front = buffer.take(100);
    EXPECT_EQ(front.view(), all.substr(0, 100));
    EXPECT_EQ(buffer.view(30'000), all.substr(100, 30'000));
    buffer.consume(50'000);
    buffer.append("written there");
    EXPECT_EQ(buffer.to_string(), all.substr(50'100) + "written there");
    back = std::move(buffer);
  }).join();
  EXPECT_EQ(back.to_string(), all.substr(50'100) + "written there") << "its thread has ended";
  back.compact();
  back.consume(back.size() - 5);
  EXPECT_EQ(back.view(), "there");
}

TEST_F(BufferTest, parts_of_one_block_on_several_threads) {
  const std::string all = letters(kLargeBlockBytes);
  for (int round = 0; round < 200; ++round) {
    Buffer buffer(all);
    std::vector<std::thread> threads;
    for (size_t at = 0; at < 3'000; at += 1'000) {
      threads.emplace_back([&all, at, part = buffer.take(1'000)]() mutable {
        Buffer front = part.take(10);
        EXPECT_EQ(front.view(), all.substr(at, 10));
        front.append(std::move(part));
        EXPECT_EQ(front.view(), all.substr(at, 1'000));
      });
    }
    EXPECT_EQ(buffer.view(), all.substr(3'000));
    buffer.clear();
    for (auto& thread : threads) thread.join();
  }
}

// The number may come from a peer, so these functions throw and do not abort.
TEST_F(BufferTest, more_than_there_is_cannot_be_had) {
  Buffer buffer("four");
  EXPECT_THROW(buffer.consume(5), std::invalid_argument);
  EXPECT_THROW(std::ignore = buffer.take(5), std::invalid_argument);
  EXPECT_THROW(buffer.view(5), std::invalid_argument);
  EXPECT_THROW(buffer.prepare(size_t{UINT32_MAX} + 1), std::invalid_argument);
  buffer.append(letters(kLargeBlockBytes));
  EXPECT_THROW(buffer.consume(kLargeBlockBytes + 5), std::invalid_argument);
  EXPECT_THROW(std::ignore = buffer.take(SIZE_MAX), std::invalid_argument);
  EXPECT_EQ(buffer.to_string(), "four" + letters(kLargeBlockBytes)) << "nothing has happened to it";
}

TEST_F(BufferTest, room_that_was_not_prepared_cannot_be_committed) {
  Buffer buffer("four");
  EXPECT_DEATH(buffer.commit(kSmallBlockBytes), "committed 512 bytes into room for 508");
}

}  // namespace
}  // namespace peal
