// SPDX-License-Identifier: BSD-3-Clause
// tests/goldens/protobuf has frames that Python's protobuf and zlib made (tools/protobuf_goldens.py). peal writes the
// same bytes, and reads the same messages from them, wherever the input is cut into blocks.
#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/message_codec.h>
#include <tests/protobuf/golden_lines.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>

namespace peal {
namespace {

using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

struct Golden {
  std::string codec, tag;
  std::unique_ptr<Message> message;
  std::string frame;
};

std::vector<Golden> goldens() {
  // The two objects make the linker keep the generated code, which registers the message types.
  const test::Note linked_in;
  const test::Query linked_in_too;
  std::vector<Golden> all;
  for (const auto& fields : test::golden_lines("frames.txt", false)) {
    Golden golden{fields.at(0), fields.at(1), test::message_of_type(fields.at(2)), test::bytes_of_hex(fields.at(4))};
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields.at(3), golden.message.get())) << fields.at(3);
    all.push_back(std::move(golden));
  }
  return all;
}

// Reads one message from the front of `input`, and expects it to equal `expected`.
template <class Codec>
void expect_message(const Codec& codec, Buffer& input, const Message& expected) {
  Buffer body;
  ASSERT_EQ(codec.next(input, body), FrameState::kWhole);
  const std::unique_ptr<Message> read(expected.New());
  ASSERT_TRUE(codec.read(body, *read));
  EXPECT_TRUE(MessageDifferencer::Equals(*read, expected)) << read->ShortDebugString();
}

TEST(MessageGoldens, are_written_to_the_byte) {
  const std::vector<Golden> all = goldens();
  ASSERT_EQ(all.size(), 52U);
  for (const Golden& golden : all) {
    test::with_codec(golden.codec, golden.tag, [&](const auto& codec) {
      Buffer output("before");
      codec.append(output, *golden.message);
      EXPECT_EQ(output.to_string(), "before" + golden.frame) << golden.message->ShortDebugString();
      EXPECT_EQ(framed(codec, *golden.message).to_string(), golden.frame);
    });
  }
}

TEST(MessageGoldens, are_read_however_they_are_cut) {
  for (const Golden& golden : goldens()) {
    test::with_codec(golden.codec, golden.tag, [&](const auto& codec) {
      const std::string_view frame = golden.frame;
      for (size_t cut = 0; cut < frame.size(); ++cut) {
        Buffer input = test::in_pieces({frame.substr(0, cut)});
        Buffer body;
        ASSERT_EQ(codec.next(input, body), FrameState::kMore) << "cut at " << cut;
        input.append(test::in_pieces({frame.substr(cut), "what follows"}));
        expect_message(codec, input, *golden.message);
        ASSERT_EQ(input.to_string(), "what follows");
      }
      for (const size_t part : {1U, 2U, 3U, 5U, 11U, 17U}) {
        Buffer input = test::in_parts(golden.frame + golden.frame, part);
        expect_message(codec, input, *golden.message);
        expect_message(codec, input, *golden.message);
        ASSERT_TRUE(input.empty());
      }
    });
  }
}

TEST(MessageGoldens, are_read_from_one_piece_and_passed_on) {
  test::GuardedBytes guarded(4096);
  for (const Golden& golden : goldens()) {
    test::with_codec(golden.codec, golden.tag, [&](const auto& codec) {
      const FramePeek found = codec.peek(golden.frame);
      ASSERT_EQ(found.state, FrameState::kWhole);
      ASSERT_EQ(found.frame_bytes(), golden.frame.size());
      const std::string_view body = guarded.hold(golden.frame).substr(found.header_bytes, found.body_bytes);
      const std::unique_ptr<Message> read(golden.message->New());
      ASSERT_TRUE(codec.read(body, *read));
      EXPECT_TRUE(MessageDifferencer::Equals(*read, *golden.message));
      Buffer passed_on;
      codec.append(passed_on, body);
      EXPECT_EQ(passed_on.to_string(), golden.frame);
    });
  }
}

TEST(MessageGoldens, of_several_blocks_are_written_and_read) {
  const auto lines = test::golden_lines("frames.txt", true);
  ASSERT_EQ(lines.size(), 52U);
  for (const auto& fields : lines) {
    test::with_codec(fields.at(1), fields.at(2), [&](const auto& codec) {
      test::Payload message;
      message.set_payload(test::golden_pattern(std::stoul(fields.at(3))));
      for (const std::string before : {"", "x"}) {
        Buffer output(before);
        codec.append(output, message);
        output.consume(before.size());
        const std::string frame = output.to_string();
        EXPECT_EQ(std::to_string(frame.size()), fields.at(4)) << fields.at(3);
        EXPECT_EQ(test::golden_crc32(frame), fields.at(5));
        expect_message(codec, output, message);
        EXPECT_TRUE(output.empty());
      }
    });
  }
}

}  // namespace
}  // namespace peal
