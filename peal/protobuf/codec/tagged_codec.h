// SPDX-License-Identifier: BSD-3-Clause
// TaggedCodec: all messages of a connection have one type, and a tag says which protocol it is. It is the format of
// muduo's ProtobufCodecLite, and with the tag "RPC0" that of its RPC, to the byte:
//
//   len | tag | message | adler32
//
// `len` and the checksum have 4 bytes, big-endian. `len` counts what follows it. The checksum is that of what stands
// between `len` and it. Pure; any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/protobuf/codec/message_bytes.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/wire/framing/frame.h>

namespace peal {

struct TaggedCodec {
  // Borrowed: a literal, as a rule. It may have any length, and may be empty.
  std::string_view tag;
  // The largest `len`: at most kMostMessageBytes counts. A larger one is kTooLong. One below the size of the tag and
  // the checksum is kTooShort.
  size_t limit_bytes = kMostMessageBytes;

  // As a Framing has them. The body begins behind `len`, and the checksum is its end.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const;
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }
  // Appends a body with its tag and checksum, as open() takes it: to pass a message on. std::invalid_argument if it is
  // too short for them or longer than limit_bytes; then nothing is appended.
  void append(Buffer& output, std::string_view body) const;
  // Appends a message. std::invalid_argument if it lacks a required field or its body is longer than limit_bytes; then
  // nothing is appended.
  void append(Buffer& output, const google::protobuf::Message& message) const;

  // The message in the body of a frame; refers to it. Trouble::kMessageTooShort, kBadChecksum, or kUnknownMessageType
  // (another tag).
  std::expected<MessageBytes, Trouble> open(std::string_view body) const;
  std::expected<MessageBytes, Trouble> open(Buffer& body) const;
  std::expected<MessageBytes, Trouble> open(MessageBytes body) const;
  // Opens the body and parses its message. If the bytes cannot be parsed or lack a required field, kUnreadableMessage.
  std::expected<void, Trouble> read(std::string_view body, google::protobuf::Message& message) const;
  std::expected<void, Trouble> read(Buffer& body, google::protobuf::Message& message) const;
};

}  // namespace peal
