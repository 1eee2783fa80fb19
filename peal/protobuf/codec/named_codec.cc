// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/named_codec.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <peal/protobuf/codec/parts/checked_frame.h>
#include <peal/protobuf/codec/parts/message_writer.h>
#include <peal/wire/framing/integer_bytes.h>

namespace peal {
namespace {

using detail::kFrameIntegerBytes;

constexpr size_t kLeastNameLength = 2;  // one letter and the NUL
constexpr size_t kLeastBodyBytes = 2 * kFrameIntegerBytes + kLeastNameLength;

detail::BodyBounds bounds(const NamedCodec& codec) { return {kLeastBodyBytes, codec.limit_bytes}; }

// Returns name_len, the length of the type name. `start` is the beginning of a body and has at least 4 bytes.
size_t name_length(std::string_view start) { return peek_integer<kFrameIntegerBytes>(start).value(); }

// Implements both open() functions. `start` is the contiguous beginning of the body. It must include the whole name,
// unless the name is longer than kMostNameBytes.
std::expected<NamedMessage, Trouble> open_body(MessageBytes body, std::string_view start) {
  if (const auto checked = detail::take_checksum(body, kLeastBodyBytes); !checked)
    return std::unexpected(checked.error());
  const size_t length = name_length(start);
  if (length < kLeastNameLength || length > body.size() - kFrameIntegerBytes)
    return std::unexpected(Trouble::kBadMessageName);
  if (length > NamedCodec::kMostNameBytes) return std::unexpected(Trouble::kUnknownMessageType);
  const std::string_view name = start.substr(kFrameIntegerBytes, length);
  if (name.back() != '\0') return std::unexpected(Trouble::kBadMessageName);
  body.remove_front(kFrameIntegerBytes + length);
  return NamedMessage{name.substr(0, length - 1), std::move(body)};
}

std::expected<void, Trouble> read_opened(const std::expected<NamedMessage, Trouble>& opened,
                                         google::protobuf::Message& message) {
  if (!opened) return std::unexpected(opened.error());
  if (opened->type_name != message.GetDescriptor()->full_name()) return std::unexpected(Trouble::kUnknownMessageType);
  return detail::parse(opened->bytes, message);
}

}  // namespace

FramePeek NamedCodec::peek(std::string_view first, size_t available) const {
  return detail::peek_body(bounds(*this), first, available);
}

FramePeek NamedCodec::peek(Buffer& input) const { return detail::peek_body(bounds(*this), input); }

void NamedCodec::append(Buffer& output, std::string_view body) const {
  detail::append_body(bounds(*this), output, body);
}

void NamedCodec::append(Buffer& output, const google::protobuf::Message& message) const {
  const std::string& name = message.GetDescriptor()->full_name();
  const size_t length = name.size() + 1;
  const size_t around_bytes = 2 * kFrameIntegerBytes + length;
  const size_t size = detail::checked_size(message, around_bytes, bounds(*this).most_bytes());
  const auto body_bytes = detail::big_endian_bytes(static_cast<uint32_t>(around_bytes + size));
  const auto name_bytes = detail::big_endian_bytes(static_cast<uint32_t>(length));
  detail::append_summed(output,
                        {.uncounted = {body_bytes.data(), body_bytes.size()},
                         .first = {name_bytes.data(), name_bytes.size()},
                         .second = {name.c_str(), length}},
                        message, size);
}

std::expected<NamedMessage, Trouble> NamedCodec::open(std::string_view body) {
  return open_body(MessageBytes(body), body);
}

std::expected<NamedMessage, Trouble> NamedCodec::open(Buffer& body) {
  if (body.is_contiguous()) return open(body.front());
  if (body.size() < kLeastBodyBytes) return std::unexpected(Trouble::kMessageTooShort);
  const size_t length = std::min(name_length(body.view(kFrameIntegerBytes)), kMostNameBytes);
  const std::string_view start = body.view(std::min(body.size(), kFrameIntegerBytes + length));
  return open_body(MessageBytes(body), start);
}

std::expected<void, Trouble> NamedCodec::read(std::string_view body, google::protobuf::Message& message) {
  return read_opened(open(body), message);
}

std::expected<void, Trouble> NamedCodec::read(Buffer& body, google::protobuf::Message& message) {
  return read_opened(open(body), message);
}

}  // namespace peal
