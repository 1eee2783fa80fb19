// SPDX-License-Identifier: BSD-3-Clause
// Common parts of muduo's two formats: a length of 4 bytes before the body, and a checksum that is the end of the body.
// Pure; any thread.
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

inline constexpr size_t kFrameIntegerBytes = 4;

// Which bodies there are.
struct BodyBounds {
  size_t least_bytes;
  size_t limit_bytes;  // at most kMostMessageBytes counts

  size_t most_bytes() const;
  // Throws std::invalid_argument unless a body of so many bytes is one.
  void check(size_t body_bytes) const;
};

FramePeek peek_body(const BodyBounds& bounds, std::string_view first, size_t available);
FramePeek peek_body(const BodyBounds& bounds, Buffer& input);
void append_body(const BodyBounds& bounds, Buffer& output, std::string_view body);
// Removes the checksum. kMessageTooShort if the body is shorter than least_bytes, or kBadChecksum.
std::expected<void, Trouble> take_checksum(MessageBytes& body, size_t least_bytes);
// Parses it, or kUnreadableMessage.
std::expected<void, Trouble> parse(const MessageBytes& bytes, google::protobuf::Message& message);

}  // namespace peal::detail
