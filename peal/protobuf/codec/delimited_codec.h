// SPDX-License-Identifier: BSD-3-Clause
// DelimitedCodec: a varint before each message says how long it is, and nothing else: no type, no checksum. It is what
// writeDelimitedTo() writes in other languages, and SerializeDelimitedToOstream() in C++. Pure; any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/wire/framing/frame.h>
#include <peal/wire/framing/length_framing.h>

namespace peal {

struct DelimitedCodec {
  // The longest message: at most INT32_MAX counts, which is protobuf's own limit. A longer one is kTooLong.
  size_t limit_bytes = kMostMessageBytes;

  // As those of VarintFraming. The body is the message, which may be empty.
  FramePeek peek(std::string_view first, size_t available) const { return framing().peek(first, available); }
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const { return framing().peek(input); }
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }
  void append(Buffer& output, std::string_view body) const { framing().append(output, body); }
  // Appends a message. std::invalid_argument if it lacks a required field or is longer than limit_bytes; then nothing
  // is appended.
  void append(Buffer& output, const google::protobuf::Message& message) const;

  // Replaces the content of `message`. If the bytes cannot be parsed as one or lack a required field,
  // Trouble::kUnreadableMessage.
  static std::expected<void, Trouble> read(std::string_view body, google::protobuf::Message& message);
  static std::expected<void, Trouble> read(Buffer& body, google::protobuf::Message& message);

 private:
  VarintFraming framing() const;
};

}  // namespace peal
