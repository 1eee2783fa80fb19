// SPDX-License-Identifier: BSD-3-Clause
// append_plain() and append_summed() write the parts of a frame in the right order, into one block and into several.
#include <peal/protobuf/codec/parts/message_writer.h>

#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/block_pool.h>
#include <peal/base/memory/buffer.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>

namespace peal::detail {
namespace {

// Calls both functions with a payload of the given size. Expects that they append the right bytes to `before`.
void expect_written(const FrameAround& around, size_t payload_bytes, const std::string& before) {
  test::Payload message;
  message.set_payload(std::string(payload_bytes, 'p'));
  const std::string bytes = message.SerializeAsString();
  const std::string counted = std::string(around.first).append(around.second) + bytes + std::string(around.after);
  Buffer plain(before);
  append_plain(plain, around, message, message.ByteSizeLong());
  ASSERT_TRUE(plain.to_string() == before + std::string(around.uncounted) + counted) << bytes.size();
  Buffer summed(before);
  append_summed(summed, around, message, message.ByteSizeLong());
  ASSERT_TRUE(summed.to_string() == before + std::string(around.uncounted) + test::summed(counted)) << bytes.size();
}

TEST(MessageWriter, writes_what_stands_behind_a_message_of_one_block_and_of_several) {
  const std::string long_text(3000, 'b');
  for (const std::string_view after :
       {std::string_view(), std::string_view("b"), std::string_view("behind"), std::string_view(long_text)}) {
    for (const std::string_view first : {"", "first"}) {
      const FrameAround around{.uncounted = "len", .first = first, .second = "second", .after = after};
      ASSERT_EQ(around.bytes(), 3 + first.size() + 6 + after.size());
      for (const size_t payload_bytes : {0U, 1U, 127U, 128U, 20'000U, 41'000U, 100'000U}) {
        for (const std::string before : {"", "before"}) expect_written(around, payload_bytes, before);
      }
    }
  }
}

// Around the payload are 12 bytes, a header of 4 bytes, and the checksum. At these sizes the frame becomes longer than
// one block.
TEST(MessageWriter, writes_what_stands_behind_at_every_size_around_that_of_a_block) {
  const FrameAround around{.uncounted = "len", .first = "f", .second = "se", .after = "behind"};
  for (size_t payload_bytes = kLargeBlockBytes - 60; payload_bytes <= kLargeBlockBytes + 20; ++payload_bytes) {
    for (const size_t before : {0U, 1U, 17U, 4096U, 20'470U}) {
      expect_written(around, payload_bytes, std::string(before, 'x'));
    }
  }
}

// At these sizes, the last block of the stream ends within the message, at its end, and within the part after it.
TEST(MessageWriter, writes_what_stands_behind_wherever_the_last_block_ends) {
  const FrameAround around{.uncounted = {}, .first = {}, .second = {}, .after = "behind"};
  for (size_t payload_bytes = 2 * kLargeBlockBytes - 40; payload_bytes <= 2 * kLargeBlockBytes + 20; ++payload_bytes) {
    for (const size_t before : {0U, 9U}) expect_written(around, payload_bytes, std::string(before, 'x'));
  }
}

TEST(MessageWriter, writes_frames_one_behind_the_other_into_the_same_blocks) {
  test::Payload message;
  Buffer output;
  std::string expected;
  for (size_t i = 0; i < 300; ++i) {
    message.set_payload(std::string(i * 7 % 500, static_cast<char>('a' + i % 26)));
    const std::string after(i % 11, 'b');
    append_summed(output, {.uncounted = "u", .first = "f", .second = "s", .after = after}, message,
                  message.ByteSizeLong());
    expected += "u" + test::summed("fs" + message.SerializeAsString() + after);
  }
  EXPECT_TRUE(output.to_string() == expected);
}

}  // namespace
}  // namespace peal::detail
