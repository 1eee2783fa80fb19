// SPDX-License-Identifier: BSD-3-Clause
// Functions that read and write varints, the integers of variable size of protobuf (protobuf.dev, "Encoding", "Base 128
// Varints"). Each byte has seven bits of the value, the lowest bits first. The top bit of a byte is set if another byte
// follows. A value of 64 bits takes at most 10 bytes. Pure functions; any thread.
//
//   96 01  is 150:  1001'0110 0000'0001  ->  001'0110 + (000'0001 << 7)
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/frame.h>

namespace peal {

inline constexpr size_t kVarintMaxBytes = 10;

// The result of peek_varint().
struct VarintPeek {
  // kWhole, kMore, or kTooLong if the bytes are not the beginning of a varint of at most 64 bits.
  FrameState state = FrameState::kMore;
  uint8_t bytes = 0;   // the size of the varint if the state is kWhole
  uint64_t value = 0;  // the value if the state is kWhole
};

// Decodes the varint at the front of `bytes`. Like protobuf, accepts a varint with more bytes than its value needs.
inline VarintPeek peek_varint(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < kVarintMaxBytes; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    // The tenth byte has only the 64th bit of the value, so it must be 0 or 1.
    if (i == kVarintMaxBytes - 1 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << 7 * i;
    if (byte < 0x80) return {FrameState::kWhole, static_cast<uint8_t>(i + 1), value};
  }
  const bool may_continue = bytes.size() < kVarintMaxBytes;
  return {.state = may_continue ? FrameState::kMore : FrameState::kTooLong};
}

// Decodes the varint at the front of `input`. Joins blocks only if the varint lies in more than one.
VarintPeek peek_varint(Buffer& input);

// Returns the varint at the front of `bytes` or `input` and removes it. Returns nullopt and removes nothing if
// peek_varint() does not return kWhole.
std::optional<uint64_t> read_varint(std::string_view& bytes);
std::optional<uint64_t> read_varint(Buffer& input);

// Returns the size of the varint of `value`: 1 to 10 bytes.
constexpr size_t varint_bytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) * 9 + 64) / 64; }

// Writes the varint of `value` to `to`, which must have room for varint_bytes(value) bytes. Returns how many bytes were
// written.
size_t write_varint(uint64_t value, char* to);

// Appends the varint of `value`.
void append_varint(Buffer& output, uint64_t value);
void append_varint(std::string& output, uint64_t value);

}  // namespace peal
