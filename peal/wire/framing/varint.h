// SPDX-License-Identifier: BSD-3-Clause
// Varints as protobuf writes them (protobuf.dev, "Encoding", "Base 128 Varints"): seven bits a byte, the lowest bits
// first. The top bit says that another byte follows. 64 bits take 10 bytes at most. Pure; any thread.
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

struct VarintPeek {
  // kTooLong: the first bytes are no varint of 64 bits, and no further byte makes them one.
  FrameState state = FrameState::kMore;
  uint8_t bytes = 0;  // the size of the varint if it is kWhole
  uint64_t value = 0;
};

// The varint at the front of `bytes`. Accepts more bytes than the value needs, as protobuf does.
inline VarintPeek peek_varint(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < kVarintMaxBytes; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    // The tenth byte holds the 64th bit alone.
    if (i == kVarintMaxBytes - 1 && byte > 1) break;
    value |= static_cast<uint64_t>(byte & 0x7f) << 7 * i;
    if (byte < 0x80) return {FrameState::kWhole, static_cast<uint8_t>(i + 1), value};
  }
  const bool may_continue = bytes.size() < kVarintMaxBytes;
  return {.state = may_continue ? FrameState::kMore : FrameState::kTooLong};
}
// Joins blocks if the varint lies in two of them.
VarintPeek peek_varint(Buffer& input);

// The varint, which is removed. Nothing, and nothing is removed, unless it is kWhole.
std::optional<uint64_t> read_varint(std::string_view& bytes);
std::optional<uint64_t> read_varint(Buffer& input);

// How many bytes append_varint() appends: 1 to 10.
constexpr size_t varint_bytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) * 9 + 64) / 64; }
// Writes the varint to `to`, which has room for varint_bytes(value), and returns how many bytes it wrote.
size_t write_varint(uint64_t value, char* to);
void append_varint(Buffer& output, uint64_t value);
void append_varint(std::string& output, uint64_t value);

}  // namespace peal
