// SPDX-License-Identifier: BSD-3-Clause
// DelimitedCodec is compared with protobuf's own delimited streams, and tested with hostile lengths.
#include <peal/protobuf/codec/delimited_codec.h>

#include <sstream>
#include <stdexcept>
#include <string>

#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>

#include <peal/base/memory/buffer.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>

namespace peal {
namespace {

using test::kDelimited;
using test::Note;
using test::Payload;
using test::Query;

TEST(DelimitedCodec, writes_what_protobuf_writes_to_streams) {
  std::ostringstream stream;
  Buffer output;
  for (const size_t size : {0U, 1U, 124U, 125U, 126U, 127U, 16'379U, 16'380U, 20'473U, 20'474U, 20'475U, 60'000U}) {
    Payload payload;
    payload.set_payload(std::string(size, 'x'));
    ASSERT_TRUE(google::protobuf::util::SerializeDelimitedToOstream(payload, &stream));
    kDelimited.append(output, payload);
  }
  EXPECT_EQ(output.to_string(), stream.str());
  Buffer body;
  Payload payload;
  size_t messages = 0;
  for (; kDelimited.next(output, body) == FrameState::kWhole; ++messages) ASSERT_TRUE(kDelimited.read(body, payload));
  EXPECT_EQ(messages, 12U);
  EXPECT_EQ(payload.payload(), std::string(60'000, 'x'));
}

TEST(DelimitedCodec, hostile_lengths_are_refused) {
  EXPECT_EQ(kDelimited.peek("\x80\x80\x80\x20").state, FrameState::kMore) << "64 MiB";
  EXPECT_EQ(kDelimited.peek("\x81\x80\x80\x20").state, FrameState::kTooLong);
  EXPECT_EQ(kDelimited.peek("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").state, FrameState::kTooLong);
  EXPECT_EQ(kDelimited.peek("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").state, FrameState::kTooLong) << "no varint";
  const DelimitedCodec of_more{.limit_bytes = SIZE_MAX};
  EXPECT_EQ(of_more.peek("\xff\xff\xff\xff\x07").state, FrameState::kMore);
  EXPECT_EQ(of_more.peek("\x80\x80\x80\x80\x08").state, FrameState::kTooLong) << "protobuf reads no more than 2 GiB";
}

TEST(DelimitedCodec, bytes_that_are_no_such_message_are_unreadable) {
  Query query;
  for (const std::string& bytes : {std::string(), std::string("\x08\x01"), std::string("\xff")}) {
    const auto read = kDelimited.read(bytes, query);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error(), Trouble::kUnreadableMessage);
  }
  Note note;
  EXPECT_TRUE(kDelimited.read("", note)) << "an empty message is one";
}

TEST(DelimitedCodec, messages_that_may_not_be_sent_throw_and_append_nothing) {
  Buffer output;
  EXPECT_THROW(kDelimited.append(output, Query()), std::invalid_argument);
  Payload payload;
  payload.set_payload("0123456789");
  const DelimitedCodec is_short{.limit_bytes = 11};
  EXPECT_THROW(is_short.append(output, payload), std::invalid_argument);
  EXPECT_TRUE(output.empty());
  const DelimitedCodec fits{.limit_bytes = 12};
  fits.append(output, payload);
  EXPECT_EQ(output.size(), 13U);
}

}  // namespace
}  // namespace peal
