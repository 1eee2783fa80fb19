// SPDX-License-Identifier: BSD-3-Clause
// These functions serialise messages into a Buffer. A frame that fits into one block is written as an array, which is
// fastest. A longer frame is written as a stream, into blocks of the usual size. Pure; one thread at a time.
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

// Returns `value` in the form that muduo's formats use: 4 bytes, big-endian.
constexpr std::array<char, 4> big_endian_bytes(uint32_t value) {
  return std::bit_cast<std::array<char, 4>>(std::endian::native == std::endian::big ? value : std::byteswap(value));
}

// Returns the serialised size of the message, which the message caches until it changes. `around_bytes` is the size of
// the other parts of the body. Throws std::invalid_argument if the message lacks a required field, or if its size and
// `around_bytes` together exceed limit_bytes.
size_t checked_size(const google::protobuf::Message& message, size_t around_bytes, size_t limit_bytes);

// The parts of a frame except the message and the checksum.
struct FrameAround {
  std::string_view uncounted;      // first in the frame, and not covered by the checksum
  std::string_view first, second;  // between `uncounted` and the message
  std::string_view after = {};     // between the message and the checksum

  size_t bytes() const { return uncounted.size() + first.size() + second.size() + after.size(); }
};

// Appends a frame without checksum: the message with the parts around it. `size` is the size that checked_size() has
// just returned; the message must not have changed since.
void append_plain(Buffer& output, const FrameAround& around, const google::protobuf::Message& message, size_t size);
// Appends a frame as append_plain() does, then the checksum of all its bytes except around.uncounted.
void append_summed(Buffer& output, const FrameAround& around, const google::protobuf::Message& message, size_t size);

}  // namespace peal::detail
