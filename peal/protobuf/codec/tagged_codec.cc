// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/tagged_codec.h>

#include <cstdint>
#include <utility>

#include <google/protobuf/message.h>

#include <peal/protobuf/codec/adler32.h>
#include <peal/protobuf/codec/parts/checked_frame.h>
#include <peal/protobuf/codec/parts/message_writer.h>
#include <peal/wire/framing/integer_bytes.h>

namespace peal {
namespace {

using detail::kFrameIntegerBytes;

detail::BodyBounds bounds(const TaggedCodec& codec) {
  return {codec.tag.size() + kFrameIntegerBytes, codec.limit_bytes};
}

std::expected<void, Trouble> read_opened(const std::expected<MessageBytes, Trouble>& opened,
                                         google::protobuf::Message& message) {
  if (!opened) return std::unexpected(opened.error());
  return detail::parse(*opened, message);
}

// Removes `tag` from the front of `bytes`. Returns false if `bytes` do not begin with `tag`. In that case a part of
// `bytes` may have been removed.
bool take_tag(MessageBytes& bytes, std::string_view tag) {
  while (!tag.empty()) {
    const std::string_view there = bytes.front().substr(0, tag.size());
    if (there.empty() || !tag.starts_with(there)) return false;
    tag.remove_prefix(there.size());
    bytes.remove_front(there.size());
  }
  return true;
}

}  // namespace

FramePeek TaggedCodec::peek(std::string_view first, size_t available) const {
  return detail::peek_body(bounds(*this), first, available);
}

FramePeek TaggedCodec::peek(Buffer& input) const { return detail::peek_body(bounds(*this), input); }

void TaggedCodec::append(Buffer& output, std::string_view body) const {
  detail::append_body(bounds(*this), output, body);
}

void TaggedCodec::append(Buffer& output, const google::protobuf::Message& message) const {
  const size_t around_bytes = bounds(*this).least_bytes;
  const size_t size = detail::checked_size(message, around_bytes, bounds(*this).most_bytes());
  const auto length = detail::big_endian_bytes(static_cast<uint32_t>(around_bytes + size));
  detail::append_summed(output, {.uncounted = {length.data(), length.size()}, .first = tag, .second = {}}, message,
                        size);
}

std::expected<MessageBytes, Trouble> TaggedCodec::open(std::string_view body) const {
  if (body.size() < bounds(*this).least_bytes) return std::unexpected(Trouble::kMessageTooShort);
  std::string_view counted = body.substr(0, body.size() - kFrameIntegerBytes);
  if (adler32_of(counted) != peek_integer<kFrameIntegerBytes>(body.substr(counted.size())))
    return std::unexpected(Trouble::kBadChecksum);
  if (!counted.starts_with(tag)) return std::unexpected(Trouble::kUnknownMessageType);
  counted.remove_prefix(tag.size());
  return MessageBytes(counted);
}

std::expected<MessageBytes, Trouble> TaggedCodec::open(MessageBytes body) const {
  if (body.is_contiguous()) return open(body.front());
  if (const auto checked = detail::take_checksum(body, bounds(*this).least_bytes); !checked)
    return std::unexpected(checked.error());
  if (!take_tag(body, tag)) return std::unexpected(Trouble::kUnknownMessageType);
  return body;
}

std::expected<MessageBytes, Trouble> TaggedCodec::open(Buffer& body) const { return open(MessageBytes(body)); }

std::expected<void, Trouble> TaggedCodec::read(std::string_view body, google::protobuf::Message& message) const {
  return read_opened(open(body), message);
}

std::expected<void, Trouble> TaggedCodec::read(Buffer& body, google::protobuf::Message& message) const {
  return read_opened(open(body), message);
}

}  // namespace peal
