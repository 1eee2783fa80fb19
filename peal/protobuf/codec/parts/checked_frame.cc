// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/parts/checked_frame.h>

#include <algorithm>
#include <array>

#include <peal/base/bad_value.h>
#include <peal/protobuf/codec/message_codec.h>
#include <peal/wire/framing/integer_bytes.h>

namespace peal::detail {

size_t BodyBounds::most_bytes() const { return std::min(limit_bytes, kMostMessageBytes); }

void BodyBounds::check(size_t body_bytes) const {
  if (body_bytes < least_bytes || body_bytes > most_bytes())
    throw_bad_value("a message body of {} bytes cannot be framed; the codec allows {} to {} bytes", body_bytes,
                    least_bytes, most_bytes());
}

FramePeek peek_body(const BodyBounds& bounds, std::string_view first, size_t available) {
  const auto length = peek_integer<kFrameIntegerBytes>(first);
  if (!length) return {};
  FramePeek found{.state = FrameState::kMore, .header_bytes = kFrameIntegerBytes, .body_bytes = *length};
  if (*length > bounds.most_bytes()) [[unlikely]] {
    found.state = FrameState::kTooLong;
  } else if (*length < bounds.least_bytes) [[unlikely]] {
    found = {.state = FrameState::kTooShort, .header_bytes = kFrameIntegerBytes};
  } else if (available >= found.frame_bytes()) {
    found.state = FrameState::kWhole;
  }
  return found;
}

FramePeek peek_body(const BodyBounds& bounds, Buffer& input) {
  const size_t available = input.size();
  if (available < kFrameIntegerBytes) return {};
  return peek_body(bounds, input.view(kFrameIntegerBytes), available);
}

void append_body(const BodyBounds& bounds, Buffer& output, std::string_view body) {
  bounds.check(body.size());
  append_integer<kFrameIntegerBytes>(output, static_cast<uint32_t>(body.size()));
  output.append(body);
}

std::expected<void, Trouble> take_checksum(MessageBytes& body, size_t least_bytes) {
  if (body.size() < least_bytes) return std::unexpected(Trouble::kMessageTooShort);
  std::array<char, kFrameIntegerBytes> sum;
  body.take_back(sum);
  if (body.adler32() != peek_integer<kFrameIntegerBytes>(std::string_view(sum.data(), sum.size())))
    return std::unexpected(Trouble::kBadChecksum);
  return {};
}

std::expected<void, Trouble> parse(const MessageBytes& bytes, google::protobuf::Message& message) {
  if (!bytes.parse_into(message)) return std::unexpected(Trouble::kUnreadableMessage);
  return {};
}

}  // namespace peal::detail
