// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/framing/varint.h>

#include <algorithm>
#include <array>

namespace peal {

VarintPeek peek_varint(Buffer& input) {
  const VarintPeek found = peek_varint(input.front());
  if (found.state != FrameState::kMore || input.is_contiguous()) return found;
  return peek_varint(input.view(std::min(input.size(), kVarintMaxBytes)));
}

std::optional<uint64_t> read_varint(std::string_view& bytes) {
  const VarintPeek found = peek_varint(bytes);
  if (found.state != FrameState::kWhole) return std::nullopt;
  bytes.remove_prefix(found.bytes);
  return found.value;
}

std::optional<uint64_t> read_varint(Buffer& input) {
  const VarintPeek found = peek_varint(input);
  if (found.state != FrameState::kWhole) return std::nullopt;
  input.consume(found.bytes);
  return found.value;
}

size_t write_varint(uint64_t value, char* to) {
  size_t bytes = 0;
  for (; value >= 0x80; value >>= 7) to[bytes++] = static_cast<char>(value | 0x80);
  to[bytes++] = static_cast<char>(value);
  return bytes;
}

void append_varint(Buffer& output, uint64_t value) {
  std::array<char, kVarintMaxBytes> bytes;
  output.append(std::string_view(bytes.data(), write_varint(value, bytes.data())));
}

void append_varint(std::string& output, uint64_t value) {
  std::array<char, kVarintMaxBytes> bytes;
  output.append(bytes.data(), write_varint(value, bytes.data()));
}

}  // namespace peal
