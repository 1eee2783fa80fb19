// SPDX-License-Identifier: BSD-3-Clause
// NamedCodec: each message says its type. It is the format of muduo's ProtobufCodec, to the byte:
//
//   len | name_len | type name, NUL | message | adler32
//
// The three integers have 4 bytes, big-endian. `len` counts what follows it. `name_len` counts the NUL, so it is 2 at
// least. The checksum is that of what stands between `len` and it. Pure; any thread.
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

// The content of a body, to which it refers.
struct NamedMessage {
  std::string_view type_name;  // a peer's: any bytes
  MessageBytes bytes;
};

struct NamedCodec {
  // The largest `len`: at most kMostMessageBytes counts. A larger one is kTooLong, one below 10 kTooShort.
  size_t limit_bytes = kMostMessageBytes;
  // A type name that is longer than this is kUnknownMessageType, and is not looked at.
  static constexpr size_t kMostNameBytes = 4096;

  // As a Framing has them. The body begins behind `len`, and the checksum is its end.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const;
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }
  // Appends a body with its checksum, as open() takes it: to pass a message on. std::invalid_argument if it is shorter
  // than 10 bytes or longer than limit_bytes; then nothing is appended.
  void append(Buffer& output, std::string_view body) const;
  // Appends a message. std::invalid_argument if it lacks a required field or its body is longer than limit_bytes; then
  // nothing is appended.
  void append(Buffer& output, const google::protobuf::Message& message) const;

  // Takes the body of a frame apart. Trouble::kMessageTooShort (less than 10 bytes), kBadChecksum, kBadMessageName
  // (name_len is below 2, or the name has no room or no NUL), or kUnknownMessageType (see kMostNameBytes).
  static std::expected<NamedMessage, Trouble> open(std::string_view body);
  // Joins the blocks that the type name lies in, and no others. The answer is valid until `body` changes.
  static std::expected<NamedMessage, Trouble> open(Buffer& body);
  // Opens the body and parses its message. If the name is not that of the type of `message`, kUnknownMessageType; if
  // the bytes cannot be parsed as one or lack a required field, kUnreadableMessage.
  static std::expected<void, Trouble> read(std::string_view body, google::protobuf::Message& message);
  static std::expected<void, Trouble> read(Buffer& body, google::protobuf::Message& message);
};

}  // namespace peal
