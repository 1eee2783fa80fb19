// SPDX-License-Identifier: BSD-3-Clause
// NamedCodec writes the name of its type with each message. The format is exactly that of muduo's ProtobufCodec:
//
//   len | name_len | type name, NUL | message | adler32
//
// `len`, `name_len` and `adler32` are integers of 4 bytes, big-endian. `len` is the number of bytes after it.
// `name_len` includes the NUL, so it is at least 2. The checksum covers everything between `len` and the checksum
// itself. Pure; any thread.
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

// The content of a frame's body. Both members refer to the memory of the body.
struct NamedMessage {
  std::string_view type_name;  // comes from the peer: may hold any bytes
  MessageBytes bytes;          // the serialised message
};

struct NamedCodec {
  // The largest `len`. Values above kMostMessageBytes have the effect of kMostMessageBytes. A frame with a larger `len`
  // is reported as FrameState::kTooLong, and a frame whose `len` is below 10 as kTooShort.
  size_t limit_bytes = kMostMessageBytes;
  // The largest `name_len`, which includes the NUL. A message with a longer name fails with kUnknownMessageType, and
  // its name is not read.
  static constexpr size_t kMostNameBytes = 4096;

  // The functions that make this codec a Framing (frame.h). The body begins after `len` and includes the checksum.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const;
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }

  // Appends a frame: `len`, then `body`. Use this to pass on a message without parsing it. `body` must include the type
  // name and the checksum, like a body that next() has returned. Throws std::invalid_argument, and appends nothing, if
  // the body is shorter than 10 bytes or longer than limit_bytes.
  void append(Buffer& output, std::string_view body) const;
  // Appends the frame of `message`. Throws std::invalid_argument, and appends nothing, if the message lacks a required
  // field or its body would be longer than limit_bytes.
  void append(Buffer& output, const google::protobuf::Message& message) const;

  // Checks the body of a frame and splits it into the type name and the bytes of the message. Fails with
  //   - Trouble::kMessageTooShort if the body has less than 10 bytes;
  //   - kBadChecksum if the checksum is wrong;
  //   - kBadMessageName if name_len is below 2 or exceeds the body, or if the name does not end with a NUL;
  //   - kUnknownMessageType if the name is longer than kMostNameBytes.
  static std::expected<NamedMessage, Trouble> open(std::string_view body);
  // Does what open(std::string_view) does, for a body in a Buffer. Only the blocks that contain the type name are
  // joined. The result is valid until `body` changes.
  static std::expected<NamedMessage, Trouble> open(Buffer& body);

  // Opens the body, parses its message and replaces the content of `message`. Fails as open() does, and with
  //   - kUnknownMessageType if the type name is not that of `message`;
  //   - kUnreadableMessage if the bytes cannot be parsed or lack a required field.
  static std::expected<void, Trouble> read(std::string_view body, google::protobuf::Message& message);
  static std::expected<void, Trouble> read(Buffer& body, google::protobuf::Message& message);
};

}  // namespace peal
