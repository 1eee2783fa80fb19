// SPDX-License-Identifier: BSD-3-Clause
// NamedCodec is tested with hostile frames: wrong lengths, checksums, names and types. message_golden_test.cc compares
// valid frames with those of other implementations.
#include <peal/protobuf/codec/named_codec.h>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/adler32.h>
#include <peal/wire/framing/integer_bytes.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/support/allocated_bytes.h>

namespace peal {
namespace {

using test::kNamed;
using test::kQueryBytes;
using test::Payload;
using test::Query;
using test::sentence;
using test::with_length;

// Returns a body with these parts and the right checksum.
std::string body_of(uint32_t name_length, std::string_view name, std::string_view message = {}) {
  return test::summed(with_length(name_length, std::string(name) + std::string(message)));
}

const std::string kQueryName("peal.test.Query\0", 16);

// Reads the body as a Query and returns the result as text.
std::string named_told(const std::string& body) { return test::told_by_read<Query>(kNamed, body); }

TEST(NamedCodec, lengths_are_judged_as_soon_as_they_are_there) {
  EXPECT_EQ(kNamed.peek(std::string_view("\0\0\0", 3)).state, FrameState::kMore);
  EXPECT_EQ(kNamed.peek(with_length(0)).state, FrameState::kTooShort);
  EXPECT_EQ(kNamed.peek(with_length(9)).state, FrameState::kTooShort);
  EXPECT_EQ(kNamed.peek(with_length(9, std::string(100, 'x'))).state, FrameState::kTooShort);
  EXPECT_EQ(kNamed.peek(with_length(10)).state, FrameState::kMore);
  EXPECT_EQ(kNamed.peek(with_length(10, std::string(10, 'x'))).state, FrameState::kWhole);
  EXPECT_EQ(kNamed.peek(with_length(64 * 1024 * 1024)).state, FrameState::kMore);
  EXPECT_EQ(kNamed.peek(with_length(64 * 1024 * 1024 + 1)).state, FrameState::kTooLong);
  EXPECT_EQ(kNamed.peek(with_length(0x80000000U)).state, FrameState::kTooLong) << "negative, to muduo";
  EXPECT_EQ(kNamed.peek(with_length(UINT32_MAX)).state, FrameState::kTooLong);
  const NamedCodec of_users{.limit_bytes = 11};
  EXPECT_EQ(of_users.peek(with_length(11)).state, FrameState::kMore);
  EXPECT_EQ(of_users.peek(with_length(12)).state, FrameState::kTooLong);
  const NamedCodec of_more{.limit_bytes = SIZE_MAX};
  EXPECT_EQ(of_more.peek(with_length(64 * 1024 * 1024 + 1)).state, FrameState::kTooLong) << "no format allows more";
}

TEST(NamedCodec, a_length_in_two_blocks_is_read) {
  Buffer input = test::in_pieces({with_length(9).substr(0, 2), with_length(9).substr(2)});
  EXPECT_EQ(kNamed.peek(input).state, FrameState::kTooShort);
  Buffer little = test::in_parts(with_length(9).substr(0, 3), 1);
  EXPECT_EQ(kNamed.peek(little).state, FrameState::kMore);
}

TEST(NamedCodec, a_length_of_64_mib_allocates_nothing) {
  const std::string start = with_length(64 * 1024 * 1024, "some bytes of it");
  Buffer input(start);
  Buffer body;
  const size_t before = test::allocated_bytes();
  EXPECT_EQ(kNamed.next(input, body), FrameState::kMore);
  EXPECT_LE(test::allocated_bytes(), before);
  EXPECT_EQ(input.size(), start.size());
}

TEST(NamedCodec, any_changed_byte_is_noticed) {
  const std::string body = body_of(16, kQueryName, kQueryBytes);
  EXPECT_EQ(named_told(body), "read");
  for (size_t at = 0; at < body.size(); ++at) {
    std::string changed = body;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    Query query;
    const auto read = NamedCodec::read(changed, query);
    ASSERT_FALSE(read) << at;
    EXPECT_EQ(read.error(), Trouble::kBadChecksum) << at;
  }
}

TEST(NamedCodec, names_that_do_not_fit_are_malformed) {
  const std::string bad = sentence(Trouble::kBadMessageName);
  EXPECT_EQ(named_told(body_of(0, "", "some")), bad);
  EXPECT_EQ(named_told(body_of(1, std::string(1, '\0'), "some")), bad);
  EXPECT_EQ(named_told(body_of(22, kQueryName, kQueryBytes)), bad) << "a byte more than there is";
  EXPECT_EQ(named_told(body_of(UINT32_MAX, kQueryName, kQueryBytes)), bad);
  EXPECT_EQ(named_told(body_of(0x80000010U, kQueryName, kQueryBytes)), bad);
  EXPECT_EQ(named_told(body_of(15, kQueryName, kQueryBytes)), bad) << "no NUL at its end";
  EXPECT_EQ(named_told(body_of(2, std::string("x\0", 2))), sentence(Trouble::kUnknownMessageType));
  EXPECT_EQ(named_told(with_length(0)), sentence(Trouble::kMessageTooShort));
  EXPECT_EQ(named_told(""), sentence(Trouble::kMessageTooShort));
}

TEST(NamedCodec, other_types_are_unknown) {
  const std::string unknown = sentence(Trouble::kUnknownMessageType);
  EXPECT_EQ(named_told(body_of(17, std::string("peal.test.Reply\0", 17), kQueryBytes)), unknown);
  EXPECT_EQ(named_told(body_of(16, std::string("peal.test.Quer\0\0", 16), kQueryBytes)), unknown) << "a NUL inside";
  EXPECT_EQ(named_told(body_of(17, std::string("Peal.test.Query.\0", 17), kQueryBytes)), unknown);
}

TEST(NamedCodec, names_of_enormous_length_are_unknown_unread) {
  std::string name(5000, 'x');
  name.back() = '\0';
  const std::string body = body_of(5000, name);
  const auto opened = NamedCodec::open(body);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), Trouble::kUnknownMessageType);
  Buffer chain = test::in_parts(body, 7);
  const auto in_parts = NamedCodec::open(chain);
  ASSERT_FALSE(in_parts);
  EXPECT_EQ(in_parts.error(), Trouble::kUnknownMessageType);
  name.erase(0, name.size() - NamedCodec::kMostNameBytes);
  const std::string longest = body_of(static_cast<uint32_t>(name.size()), name);
  ASSERT_TRUE(NamedCodec::open(longest));
  EXPECT_EQ(NamedCodec::open(longest)->type_name.size(), NamedCodec::kMostNameBytes - 1);
}

TEST(NamedCodec, bytes_that_are_no_such_message_are_unreadable) {
  const std::string unreadable = sentence(Trouble::kUnreadableMessage);
  EXPECT_EQ(named_told(body_of(16, kQueryName, "\xff")), unreadable);
  EXPECT_EQ(named_told(body_of(16, kQueryName, "\x08\x01")), unreadable) << "without its questioner";
  EXPECT_EQ(named_told(body_of(16, kQueryName)), unreadable) << "nothing at all";
  EXPECT_EQ(named_told(body_of(16, kQueryName, kQueryBytes + "\xf8\x01\x07")), "read") << "with a field that is new";
}

TEST(NamedCodec, what_a_body_holds_is_told_before_it_is_parsed) {
  const std::string body = body_of(16, kQueryName, "no message");
  const auto opened = NamedCodec::open(body);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->type_name, "peal.test.Query");
  EXPECT_EQ(opened->bytes.to_string(), "no message");
  for (size_t part = 1; part < body.size(); ++part) {
    Buffer chain = test::in_parts(body, part);
    const auto in_parts = NamedCodec::open(chain);
    ASSERT_TRUE(in_parts);
    EXPECT_EQ(in_parts->type_name, "peal.test.Query");
    EXPECT_EQ(in_parts->bytes.to_string(), "no message");
  }
}

TEST(NamedCodec, text_that_is_no_utf_8_is_sent_without_a_word) {
  test::Note note;
  note.set_text("\xc3\x28");
  testing::internal::CaptureStderr();
  const std::string frame = framed(kNamed, note).to_string();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_NE(frame.find("\xc3\x28"), std::string::npos);
}

TEST(NamedCodec, messages_that_may_not_be_sent_throw_and_append_nothing) {
  Buffer output("before");
  Query query;
  query.set_id(1);
  EXPECT_THROW(kNamed.append(output, query), std::invalid_argument) << "it has no questioner";
  Payload payload;
  payload.set_payload("0123456789");
  const size_t body_bytes = framed(kNamed, payload).size() - 4;
  const NamedCodec fits{.limit_bytes = body_bytes};
  const NamedCodec is_short{.limit_bytes = body_bytes - 1};
  EXPECT_THROW(is_short.append(output, payload), std::invalid_argument);
  EXPECT_THROW(kNamed.append(output, "too short"), std::invalid_argument);
  EXPECT_THROW(is_short.append(output, std::string(body_bytes, 'x')), std::invalid_argument);
  EXPECT_EQ(output.to_string(), "before");
  fits.append(output, payload);
  EXPECT_EQ(output.size(), 6 + 4 + body_bytes);
}

}  // namespace
}  // namespace peal
