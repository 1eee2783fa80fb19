// SPDX-License-Identifier: BSD-3-Clause
// The parts that muduo's two formats have in common: a length of 4 bytes before the body, and a checksum as the last 4
// bytes of the body. Pure; any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/protobuf/codec/message_bytes.h>
#include <peal/wire/framing/frame.h>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace peal::detail {

// The size of each integer in muduo's formats, in bytes.
inline constexpr size_t kFrameIntegerBytes = 4;

// The smallest and the largest size of a body that a codec allows.
struct BodyBounds {
  size_t least_bytes;
  size_t limit_bytes;  // values above kMostMessageBytes have the effect of kMostMessageBytes

  // Returns the largest size that is allowed.
  size_t most_bytes() const;
  // Throws std::invalid_argument if a body of this size is too short or too long.
  void check(size_t body_bytes) const;
};

// peek_body() implements peek() of the codecs, and append_body() implements append(). Both allow only bodies within
// `bounds`.
FramePeek peek_body(const BodyBounds& bounds, std::string_view first, size_t available);
FramePeek peek_body(const BodyBounds& bounds, Buffer& input);
void append_body(const BodyBounds& bounds, Buffer& output, std::string_view body);

// Removes the checksum from the end of `body` and compares it with the checksum of the other bytes. Fails with
// kMessageTooShort if the body is shorter than `least_bytes`, and with kBadChecksum if the checksums differ.
std::expected<void, Trouble> take_checksum(MessageBytes& body, size_t least_bytes);

// Parses `bytes` into `message`. Fails with kUnreadableMessage if MessageBytes::parse_into() returns false.
std::expected<void, Trouble> parse(const MessageBytes& bytes, google::protobuf::Message& message);

}  // namespace peal::detail
