// SPDX-License-Identifier: BSD-3-Clause
// MessageBytes gives the same results for bytes in one piece and in several. Reading a peer's bytes takes no more
// memory than their number justifies.
#include <peal/protobuf/codec/message_bytes.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <peal/protobuf/codec/adler32.h>
#include <peal/wire/framing/varint.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/support/guarded_bytes.h>

namespace peal {
namespace {

using test::Note;
using test::Query;

const std::string kText = "0123456789abcdefghij";

std::string bytes_of_note() {
  const std::string text = "text: 'one' payload: 'two' numbers: [1, -2, 3] notes { text: 'three' } notes { }";
  return test::message<Note>(text).SerializeAsString();
}

TEST(MessageBytes, are_cut_at_both_ends_in_one_piece_and_in_several) {
  for (size_t part = 1; part <= kText.size() + 1; ++part) {
    const Buffer buffer = test::in_parts(kText, part);
    for (size_t front = 0; front <= kText.size(); ++front) {
      for (size_t back = 0; front + back <= kText.size(); ++back) {
        MessageBytes bytes(buffer);
        std::string end(back, '\0');
        bytes.take_back(end);
        bytes.remove_front(front);
        const std::string rest = kText.substr(front, kText.size() - front - back);
        ASSERT_EQ(bytes.to_string(), rest);
        ASSERT_EQ(bytes.size(), rest.size());
        ASSERT_EQ(end, kText.substr(kText.size() - back));
        ASSERT_EQ(bytes.adler32(), adler32_of(rest));
        ASSERT_TRUE(rest.starts_with(bytes.front()));
        ASSERT_TRUE(rest.empty() || !bytes.front().empty());
        ASSERT_TRUE(!bytes.is_contiguous() || bytes.front() == rest);
      }
    }
  }
}

void expect_bytes(const MessageBytes& bytes, const std::string& expected) {
  ASSERT_EQ(bytes.to_string(), expected);
  ASSERT_EQ(bytes.size(), expected.size());
  ASSERT_EQ(bytes.adler32(), adler32_of(expected));
  ASSERT_TRUE(expected.starts_with(bytes.front()));
  ASSERT_TRUE(expected.empty() || !bytes.front().empty());
  ASSERT_EQ(bytes.is_contiguous(), bytes.front() == expected);
}

TEST(MessageBytes, are_taken_from_the_front_at_every_size_and_the_rest_stays) {
  for (size_t part = 1; part <= kText.size() + 1; ++part) {
    const Buffer buffer = test::in_parts(kText, part);
    for (size_t first = 0; first <= kText.size(); ++first) {
      for (size_t second = 0; first + second <= kText.size(); ++second) {
        MessageBytes bytes(buffer);
        const MessageBytes taken = bytes.take_front(first);
        expect_bytes(taken, kText.substr(0, first));
        const MessageBytes more = bytes.take_front(second);
        expect_bytes(more, kText.substr(first, second));
        expect_bytes(bytes, kText.substr(first + second));
        expect_bytes(taken, kText.substr(0, first));
        MessageBytes again = taken;
        again.remove_front(first / 2);
        std::string end(first - first / 2, '\0');
        again.take_back(end);
        ASSERT_EQ(end, kText.substr(first / 2, first - first / 2)) << "what was taken is cut like any other";
      }
    }
  }
}

TEST(MessageBytes, are_taken_from_the_front_wherever_two_blocks_meet) {
  for (size_t cut = 1; cut < kText.size(); ++cut) {
    const Buffer buffer = test::in_pieces({kText.substr(0, cut), kText.substr(cut)});
    for (size_t first = 0; first <= kText.size(); ++first) {
      MessageBytes bytes(buffer);
      const MessageBytes taken = bytes.take_front(first);
      expect_bytes(taken, kText.substr(0, first));
      expect_bytes(bytes, kText.substr(first));
      ASSERT_EQ(taken.is_contiguous(), first <= cut);
      ASSERT_EQ(bytes.is_contiguous(), first >= cut);
    }
  }
}

TEST(MessageBytes, that_are_taken_from_the_front_are_parsed) {
  const std::string bytes = bytes_of_note();
  Note expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  const std::string stream = "before" + bytes + "behind";
  for (size_t part = 1; part <= stream.size(); ++part) {
    const Buffer buffer = test::in_parts(stream, part);
    MessageBytes rest(buffer);
    EXPECT_EQ(rest.take_front(6).to_string(), "before");
    Note note;
    ASSERT_TRUE(rest.take_front(bytes.size()).parse_into(note)) << part;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(note, expected)) << part;
    EXPECT_EQ(rest.to_string(), "behind");
  }
}

TEST(MessageBytes, more_than_there_is_cannot_be_removed) {
  std::array<char, 21> room;
  for (const size_t part : {5U, 20U}) {
    const Buffer buffer = test::in_parts(kText, part);
    MessageBytes bytes(buffer);
    EXPECT_THROW(bytes.remove_front(21), std::invalid_argument);
    EXPECT_THROW(bytes.take_front(21), std::invalid_argument);
    EXPECT_THROW(bytes.take_back(room), std::invalid_argument);
    EXPECT_EQ(bytes.to_string(), kText);
  }
}

TEST(MessageBytes, are_parsed_wherever_their_blocks_end) {
  const std::string bytes = bytes_of_note();
  Note expected;
  ASSERT_TRUE(expected.ParseFromString(bytes));
  for (size_t part = 1; part <= bytes.size(); ++part) {
    const Buffer buffer = test::in_parts(bytes, part);
    Note note;
    note.set_text("what was there is replaced");
    ASSERT_TRUE(MessageBytes(buffer).parse_into(note)) << part;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(note, expected)) << part;
  }
}

TEST(MessageBytes, that_end_too_early_are_unreadable_wherever_their_blocks_end) {
  const std::string bytes = bytes_of_note();
  test::GuardedBytes guarded(bytes.size());
  for (size_t size = 0; size < bytes.size(); ++size) {
    Note note;
    const bool readable = note.ParseFromString(bytes.substr(0, size));
    EXPECT_EQ(MessageBytes(guarded.hold({bytes.data(), size})).parse_into(note), readable) << size;
    for (const size_t part : {1U, 2U, 7U, 16U, 17U}) {
      const Buffer buffer = test::in_parts({bytes.data(), size}, part);
      EXPECT_EQ(MessageBytes(buffer).parse_into(note), readable) << size << " in parts of " << part;
    }
  }
}

TEST(MessageBytes, without_a_required_field_or_of_garbage_are_unreadable_and_nothing_is_logged) {
  const std::string no_text("\x0a\x02\xc3\x28", 4);  // a string that is not valid UTF-8
  const std::string deep = [] {
    std::string inner;
    for (int level = 0; level < 200; ++level) {
      std::string outer = "\x22";
      append_varint(outer, inner.size());
      inner = outer + inner;
    }
    return inner;
  }();
  Note note;
  Query query;
  testing::internal::CaptureStderr();
  for (const size_t part : {1U, 1000U}) {
    EXPECT_FALSE(MessageBytes(test::in_parts(no_text, part)).parse_into(note));
    EXPECT_FALSE(MessageBytes(test::in_parts(deep, part)).parse_into(note)) << "200 levels";
    EXPECT_FALSE(MessageBytes(test::in_parts("\x08\x01", part)).parse_into(query)) << "an id, no questioner";
    EXPECT_FALSE(MessageBytes(test::in_parts("\xff\xff\xff", part)).parse_into(query));
  }
  EXPECT_FALSE(MessageBytes().parse_into(query));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(note.ParseFromString(no_text));
  EXPECT_NE(testing::internal::GetCapturedStderr(), "") << "what others parse is logged as ever";
}

// For such bytes, protobuf gives back more bytes to the input stream than the last piece had. protobuf's own streams
// throw FatalException then.
TEST(MessageBytes, that_end_a_group_which_never_began_are_unreadable_wherever_their_blocks_end) {
  const std::string bytes = bytes_of_note();
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string ended = bytes;
    ended.insert(at, "\x1c");
    for (size_t part = 1; part <= ended.size(); ++part) {
      Note note;
      const bool readable = note.ParseFromString(ended);
      EXPECT_EQ(MessageBytes(test::in_parts(ended, part)).parse_into(note), readable) << at << ", parts of " << part;
    }
  }
  Note note;
  EXPECT_FALSE(note.ParseFromString("\x1c" + bytes)) << "so it is an end";
}

// The type has a weak field and was made at run time, as a client may do from the definitions that a server sends.
// protobuf throws when it parses such a field.
TEST(MessageBytes, of_a_type_about_which_protobuf_throws_are_unreadable) {
  const auto file = test::message<google::protobuf::FileDescriptorProto>(R"(
    name: "weak.proto" message_type { name: "Weak"
      field { name: "x" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 options { weak: true } } })");
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* const built = pool.BuildFile(file);
  ASSERT_NE(built, nullptr);
  google::protobuf::DynamicMessageFactory messages(&pool);
  const std::unique_ptr<google::protobuf::Message> weak(messages.GetPrototype(built->message_type(0))->New());
  testing::internal::CaptureStderr();
  const Buffer parts = test::in_parts("\x08\x05", 1);
  EXPECT_FALSE(MessageBytes(parts).parse_into(*weak));
  EXPECT_FALSE(MessageBytes("\x08\x05").parse_into(*weak));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("weak")) << "protobuf did throw";
}

TEST(MessageBytes, a_length_that_only_claims_allocates_nothing) {
  std::string bytes = "\x12";  // the key of Note::payload
  append_varint(bytes, 48'000'000);
  bytes.append(30'000, 'x');
  const Buffer chain = test::in_parts(bytes, 10'000);
  Note note;
  EXPECT_FALSE(MessageBytes(chain).parse_into(note));
  EXPECT_FALSE(MessageBytes(bytes).parse_into(note));
  EXPECT_LE(note.payload().capacity(), 64'000U);
  std::string packed = "\x1a";  // the key of Note::numbers
  append_varint(packed, 48'000'000);
  packed.append(30'000, '\1');
  const Buffer packed_chain = test::in_parts(packed, 10'000);
  EXPECT_FALSE(MessageBytes(packed_chain).parse_into(note));
  EXPECT_FALSE(MessageBytes(packed).parse_into(note));
  EXPECT_LE(note.SpaceUsedLong(), 1'000'000U);
}

}  // namespace
}  // namespace peal
