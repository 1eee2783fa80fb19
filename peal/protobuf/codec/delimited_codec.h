// SPDX-License-Identifier: BSD-3-Clause
// DelimitedCodec writes a varint with the message's length before each message, and nothing else: no type and no
// checksum. protobuf has the same format in writeDelimitedTo() of Java and SerializeDelimitedToOstream() of C++. Pure;
// any thread.
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
  // The longest message in bytes. Values above INT32_MAX, which is protobuf's own limit, have the effect of INT32_MAX.
  // A longer message is reported as FrameState::kTooLong.
  size_t limit_bytes = kMostMessageBytes;

  // The functions that make this codec a Framing (frame.h). They behave like those of VarintFraming. The body of a
  // frame is the serialised message, which may be empty.
  FramePeek peek(std::string_view first, size_t available) const { return framing().peek(first, available); }
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const { return framing().peek(input); }
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }
  void append(Buffer& output, std::string_view body) const { framing().append(output, body); }

  // Appends the frame of `message`. Throws std::invalid_argument, and appends nothing, if the message lacks a required
  // field or is longer than limit_bytes.
  void append(Buffer& output, const google::protobuf::Message& message) const;

  // Parses a body and replaces the content of `message`. Fails with Trouble::kUnreadableMessage if the bytes are no
  // serialised message of the type of `message`, or lack a required field.
  static std::expected<void, Trouble> read(std::string_view body, google::protobuf::Message& message);
  static std::expected<void, Trouble> read(Buffer& body, google::protobuf::Message& message);

 private:
  VarintFraming framing() const;
};

}  // namespace peal
