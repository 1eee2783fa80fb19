// SPDX-License-Identifier: BSD-3-Clause
// TaggedCodec is for connections whose messages all have one type. A tag in each message names the protocol. The format
// is exactly that of muduo's ProtobufCodecLite and, with the tag "RPC0", that of muduo's RPC:
//
//   len | tag | message | adler32
//
// `len` and `adler32` are integers of 4 bytes, big-endian. `len` is the number of bytes after it. The checksum covers
// everything between `len` and the checksum itself. Pure; any thread.
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
  // The tag, which may have any length and may be empty. The text is borrowed; it is usually a string literal.
  std::string_view tag;
  // The largest `len`. Values above kMostMessageBytes have the effect of kMostMessageBytes. A frame with a larger `len`
  // is reported as FrameState::kTooLong, and a frame that is too short for the tag and the checksum as kTooShort.
  size_t limit_bytes = kMostMessageBytes;

  // The functions that make this codec a Framing (frame.h). The body begins after `len` and includes the checksum.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const;
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }

  // Appends a frame: `len`, then `body`. Use this to pass on a message without parsing it. `body` must include the tag
  // and the checksum, like a body that next() has returned. Throws std::invalid_argument, and appends nothing, if the
  // body is longer than limit_bytes or too short for tag and checksum.
  void append(Buffer& output, std::string_view body) const;
  // Appends the frame of `message`. Throws std::invalid_argument, and appends nothing, if the message lacks a required
  // field or its body would be longer than limit_bytes.
  void append(Buffer& output, const google::protobuf::Message& message) const;

  // Checks the body of a frame and returns the bytes of its message, which refer to the memory of the body. Fails with
  // Trouble::kMessageTooShort, with kBadChecksum, and with kUnknownMessageType if the body has another tag.
  std::expected<MessageBytes, Trouble> open(std::string_view body) const;
  std::expected<MessageBytes, Trouble> open(Buffer& body) const;
  std::expected<MessageBytes, Trouble> open(MessageBytes body) const;

  // Opens the body, parses its message and replaces the content of `message`. Fails as open() does, and with
  // kUnreadableMessage if the bytes cannot be parsed or lack a required field.
  std::expected<void, Trouble> read(std::string_view body, google::protobuf::Message& message) const;
  std::expected<void, Trouble> read(Buffer& body, google::protobuf::Message& message) const;
};

}  // namespace peal
