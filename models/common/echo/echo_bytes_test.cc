// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/echo/echo_bytes.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <tests/support/echo_crowd.h>
#include <tests/support/engine_rig.h>

namespace peal::models {
namespace {

// Adds `bytes` to the buffer in several parts, as reads of at most `piece` bytes would do.
void receive(EchoBytes& buffer, std::string_view bytes, size_t piece = SIZE_MAX) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = buffer.room();
    ASSERT_FALSE(room.empty());
    const size_t size = std::min({room.size(), piece, bytes.size()});
    std::memcpy(room.data(), bytes.data(), size);
    buffer.filled(size);
    bytes.remove_prefix(size);
  }
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Removes the answer from the buffer in several parts, as writes of at most `piece` bytes would do. Returns the answer.
std::string send_all(EchoBytes& buffer, size_t piece = SIZE_MAX) {
  std::string sent;
  while (buffer.has_answer()) {
    const std::string part = text(buffer.answer()).substr(0, piece);
    sent += part;
    buffer.sent(part.size());
  }
  return sent;
}

TEST(EchoBytesTest, whole_frames_join_the_answer_and_a_part_of_one_waits) {
  EchoBytes buffer(100);
  EXPECT_EQ(buffer.take(), FrameState::kMore);
  EXPECT_FALSE(buffer.in_frame());
  const std::string frames = frame_of("one") + frame_of("") + frame_of("three");
  receive(buffer, frames + header_of(5) + "fo");
  EXPECT_FALSE(buffer.has_answer()) << "nothing is taken yet";
  std::string taken;
  for (const char* next : {"one", "", "three"}) {
    ASSERT_EQ(buffer.take(), FrameState::kWhole);
    taken += frame_of(next);
    EXPECT_EQ(text(buffer.answer()), taken);
  }
  EXPECT_EQ(buffer.take(), FrameState::kMore);
  EXPECT_TRUE(buffer.in_frame());
  EXPECT_EQ(send_all(buffer, 5), frames);
  EXPECT_TRUE(buffer.in_frame());
  receive(buffer, "ur!");
  EXPECT_EQ(buffer.take(), FrameState::kWhole);
  EXPECT_FALSE(buffer.in_frame());
  EXPECT_EQ(send_all(buffer), frame_of("four!"));
}

TEST(EchoBytesTest, frame_that_arrives_while_an_answer_is_half_sent_follows_it) {
  EchoBytes buffer(100);
  receive(buffer, frame_of("first"));
  ASSERT_EQ(buffer.take(), FrameState::kWhole);
  buffer.sent(6);
  receive(buffer, frame_of("second"));
  EXPECT_EQ(text(buffer.answer()), frame_of("first").substr(6));
  ASSERT_EQ(buffer.take(), FrameState::kWhole);
  EXPECT_EQ(send_all(buffer), frame_of("first").substr(6) + frame_of("second"));
}

TEST(EchoBytesTest, frame_too_long_stays_so_and_leaves_the_answers_before_it) {
  EchoBytes buffer(4);
  receive(buffer, frame_of("fits") + header_of(5));
  EXPECT_EQ(buffer.take(), FrameState::kWhole);
  EXPECT_EQ(buffer.take(), FrameState::kTooLong);
  EXPECT_EQ(send_all(buffer), frame_of("fits"));
  EXPECT_EQ(buffer.take(), FrameState::kTooLong);
}

TEST(EchoBytesTest, any_stream_in_pieces_of_any_size_comes_back_as_it_was) {
  std::string stream;
  for (const size_t size : {0, 1, 70'000, 20'476, 20'477, 3, 0, 40'956, 5}) stream += frame_of(pattern(size));
  for (const size_t read_size : {size_t{17}, size_t{4096}, size_t{19'999}, stream.size()}) {
    for (const size_t write_size : {size_t{999}, size_t{10'000}, stream.size()}) {
      EchoBytes buffer(70'000);
      std::string back;
      for (size_t at = 0; at < stream.size(); at += read_size) {
        receive(buffer, std::string_view(stream).substr(at, read_size));
        while (buffer.take() == FrameState::kWhole) {
        }
        // Sends only a part of the answer, like a socket that is nearly full.
        if (buffer.has_answer()) {
          const std::string part = text(buffer.answer()).substr(0, write_size);
          back += part;
          buffer.sent(part.size());
        }
      }
      back += send_all(buffer, write_size);
      EXPECT_TRUE(same_bytes(back, stream)) << read_size << " in, " << write_size << " out";
    }
  }
}

// A header announces a body of 1 MiB, but the buffer stays small. It doubles only when it is full of bytes that have
// arrived.
TEST(EchoBytesTest, grows_with_the_bytes_that_arrive_not_with_the_announced_length) {
  constexpr size_t kAnnouncedBytes = 1024 * 1024;
  const std::string header = header_of(kAnnouncedBytes);
  EchoBytes buffer(kAnnouncedBytes);
  receive(buffer, header);
  const size_t first = buffer.room().size();
  EXPECT_LT(first, 64u * 1024);
  receive(buffer, std::string(first, 'x'));
  EXPECT_LE(buffer.room().size(), 2 * (first + header.size()));
}

TEST(EchoBytesTest, endless_conversation_stays_in_the_same_memory) {
  EchoBytes buffer(100);
  receive(buffer, frame_of("a"));
  ASSERT_EQ(buffer.take(), FrameState::kWhole);
  const std::byte* const place = buffer.answer().data();
  send_all(buffer);
  for (int i = 0; i < 100'000; ++i) {
    receive(buffer, frame_of("a"));
    ASSERT_EQ(buffer.take(), FrameState::kWhole);
    ASSERT_EQ(buffer.answer().data(), place);
    buffer.sent(buffer.answer().size());
  }
}

}  // namespace
}  // namespace peal::models
