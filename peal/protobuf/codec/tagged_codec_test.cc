// SPDX-License-Identifier: BSD-3-Clause
// TaggedCodec is tested with hostile frames: wrong lengths, checksums and tags. message_golden_test.cc compares valid
// frames with those of other implementations.
#include <peal/protobuf/codec/tagged_codec.h>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/integer_bytes.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>

namespace peal {
namespace {

using test::kQueryBytes;
using test::kTagged;
using test::Payload;
using test::Query;
using test::sentence;
using test::with_length;

// Reads the body as a Query and returns the result as text.
std::string tagged_told(const std::string& body, const TaggedCodec& codec = kTagged) {
  return test::told_by_read<Query>(codec, body);
}

TEST(TaggedCodec, lengths_are_judged_as_soon_as_they_are_there) {
  EXPECT_EQ(kTagged.peek(with_length(7)).state, FrameState::kTooShort);
  EXPECT_EQ(kTagged.peek(with_length(8)).state, FrameState::kMore);
  EXPECT_EQ(kTagged.peek(with_length(64 * 1024 * 1024)).state, FrameState::kMore);
  EXPECT_EQ(kTagged.peek(with_length(64 * 1024 * 1024 + 1)).state, FrameState::kTooLong);
  EXPECT_EQ(kTagged.peek(with_length(UINT32_MAX)).state, FrameState::kTooLong);
  const TaggedCodec without_tag;
  EXPECT_EQ(without_tag.peek(with_length(3)).state, FrameState::kTooShort);
  EXPECT_EQ(without_tag.peek(with_length(4)).state, FrameState::kMore);
  Buffer input = test::in_parts(with_length(7), 1);
  EXPECT_EQ(kTagged.peek(input).state, FrameState::kTooShort);
}

TEST(TaggedCodec, any_changed_byte_is_noticed) {
  const std::string body = test::summed("RPC0" + kQueryBytes);
  EXPECT_EQ(tagged_told(body), "read");
  for (size_t at = 0; at < body.size(); ++at) {
    std::string changed = body;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_EQ(tagged_told(changed), sentence(Trouble::kBadChecksum)) << at;
  }
}

TEST(TaggedCodec, other_tags_are_unknown_and_other_bytes_unreadable) {
  EXPECT_EQ(tagged_told(test::summed("RPC1" + kQueryBytes)), sentence(Trouble::kUnknownMessageType));
  EXPECT_EQ(tagged_told(test::summed(" RPC0" + kQueryBytes)), sentence(Trouble::kUnknownMessageType));
  EXPECT_EQ(tagged_told(test::summed("RPC0")), sentence(Trouble::kUnreadableMessage)) << "no required field";
  EXPECT_EQ(tagged_told(test::summed("RPC0\xff")), sentence(Trouble::kUnreadableMessage));
  EXPECT_EQ(tagged_told(test::summed("RPC")), sentence(Trouble::kMessageTooShort));
  EXPECT_EQ(tagged_told(""), sentence(Trouble::kMessageTooShort));
  EXPECT_EQ(tagged_told(test::summed(kQueryBytes), TaggedCodec{}), "read");
  EXPECT_EQ(tagged_told(test::summed("a tag of several words" + kQueryBytes), {.tag = "a tag of several words"}),
            "read");
}

TEST(TaggedCodec, messages_that_may_not_be_sent_throw_and_append_nothing) {
  Buffer output;
  Query query;
  EXPECT_THROW(kTagged.append(output, query), std::invalid_argument);
  Payload payload;
  payload.set_payload("0123456789");
  const size_t body_bytes = framed(kTagged, payload).size() - 4;
  const TaggedCodec fits{.tag = "RPC0", .limit_bytes = body_bytes};
  const TaggedCodec is_short{.tag = "RPC0", .limit_bytes = body_bytes - 1};
  EXPECT_THROW(is_short.append(output, payload), std::invalid_argument);
  EXPECT_THROW(kTagged.append(output, "RPC0\1\2\3"), std::invalid_argument);
  EXPECT_TRUE(output.empty());
  fits.append(output, payload);
  EXPECT_EQ(output.size(), 4 + body_bytes);
}

}  // namespace
}  // namespace peal
