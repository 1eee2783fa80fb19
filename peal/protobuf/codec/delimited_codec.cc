// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/delimited_codec.h>

#include <algorithm>
#include <array>
#include <climits>

#include <google/protobuf/message.h>

#include <peal/protobuf/codec/message_bytes.h>
#include <peal/protobuf/codec/parts/checked_frame.h>
#include <peal/protobuf/codec/parts/message_writer.h>
#include <peal/wire/framing/varint.h>

namespace peal {

VarintFraming DelimitedCodec::framing() const { return {.limit_bytes = std::min<size_t>(limit_bytes, INT_MAX)}; }

void DelimitedCodec::append(Buffer& output, const google::protobuf::Message& message) const {
  const size_t size = detail::checked_size(message, 0, framing().limit_bytes);
  std::array<char, kVarintMaxBytes> length;
  const size_t length_bytes = write_varint(size, length.data());
  detail::append_plain(output, {.uncounted = {length.data(), length_bytes}, .first = {}, .second = {}}, message, size);
}

std::expected<void, Trouble> DelimitedCodec::read(std::string_view body, google::protobuf::Message& message) {
  return detail::parse(MessageBytes(body), message);
}

std::expected<void, Trouble> DelimitedCodec::read(Buffer& body, google::protobuf::Message& message) {
  return detail::parse(MessageBytes(body), message);
}

}  // namespace peal
