// SPDX-License-Identifier: BSD-3-Clause
// Serialises messages into a Buffer. A frame that fits a block is written as an array; a longer one as a stream, into
// blocks of the usual size. Pure; one thread at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/memory/buffer.h>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace peal::detail {

// The integers of muduo's formats.
constexpr std::array<char, 4> big_endian_bytes(uint32_t value) {
  return std::bit_cast<std::array<char, 4>>(std::endian::native == std::endian::big ? value : std::byteswap(value));
}

// The size of the message on the wire, which the message caches until it changes. std::invalid_argument if it lacks a
// required field, or if it is longer than limit_bytes less `around_bytes`, which is what its body has besides.
size_t checked_size(const google::protobuf::Message& message, size_t around_bytes, size_t limit_bytes);

// The parts of a frame beside the message.
struct FrameAround {
  std::string_view uncounted;      // in front, and not part of the checksum
  std::string_view first, second;  // in front
  std::string_view after = {};

  size_t bytes() const { return uncounted.size() + first.size() + second.size() + after.size(); }
};

// Appends the message, whose size was just checked, and what stands around it.
void append_plain(Buffer& output, const FrameAround& around, const google::protobuf::Message& message, size_t size);
// Then appends the checksum of everything except around.uncounted.
void append_summed(Buffer& output, const FrameAround& around, const google::protobuf::Message& message, size_t size);

}  // namespace peal::detail
