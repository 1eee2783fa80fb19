// SPDX-License-Identifier: BSD-3-Clause
// The framed echo protocol: four bytes of body length, big-endian, then the body. Zero length is legal. The answer is
// the same body in a frame of its own, and so the same bytes. Pure; one thread at a time.
//
//   00 00 00 05  h e l l o │ 00 00 00 00 │ ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <peal/base/memory/buffer.h>

namespace peal {

inline constexpr size_t kEchoHeaderBytes = 4;
// The largest body a decoder takes unless told otherwise.
inline constexpr uint32_t kEchoBodyMaxBytes = 1024 * 1024;

// The header of a body of `body_bytes`.
constexpr std::array<std::byte, kEchoHeaderBytes> echo_header(uint32_t body_bytes) {
  return {static_cast<std::byte>(body_bytes >> 24), static_cast<std::byte>(body_bytes >> 16),
          static_cast<std::byte>(body_bytes >> 8), static_cast<std::byte>(body_bytes)};
}

enum class EchoFrameState : uint8_t {
  kWhole,     // a frame lies whole at the front
  kMore,      // more bytes are needed
  kTooLarge,  // the header announces more than the maximum: there is no way to go on
};

struct EchoFramePeek {
  EchoFrameState state = EchoFrameState::kMore;
  // What the header announces; 0 while the header itself is incomplete.
  uint32_t body_bytes = 0;

  size_t frame_bytes() const { return kEchoHeaderBytes + body_bytes; }
};

// What lies at the front of `bytes`. Of a whole frame the body is bytes.subspan(kEchoHeaderBytes, body_bytes), and the
// next one begins at frame_bytes(). `available_bytes` counts those that follow `bytes` elsewhere, too.
inline EchoFramePeek peek_frame(std::span<const std::byte> bytes, size_t available_bytes, uint32_t max_body_bytes) {
  if (bytes.size() < kEchoHeaderBytes) return {};
  uint32_t body_bytes = std::to_integer<uint32_t>(bytes[0]) << 24 | std::to_integer<uint32_t>(bytes[1]) << 16 |
                        std::to_integer<uint32_t>(bytes[2]) << 8 | std::to_integer<uint32_t>(bytes[3]);
  if (body_bytes > max_body_bytes) return {EchoFrameState::kTooLarge, body_bytes};
  bool whole = available_bytes - kEchoHeaderBytes >= body_bytes;
  return {whole ? EchoFrameState::kWhole : EchoFrameState::kMore, body_bytes};
}
inline EchoFramePeek peek_frame(std::span<const std::byte> bytes, uint32_t max_body_bytes = kEchoBodyMaxBytes) {
  return peek_frame(bytes, bytes.size(), max_body_bytes);
}

// Appends a frame with a copy of `body`.
void append_echo_frame(Buffer& output, std::string_view body);

// Takes frames off the front of a Buffer: the bytes stay in the blocks they arrived in.
//
//   while (decoder.next(input, body) == EchoFrameState::kWhole) answer(std::move(body));
class EchoFrameDecoder {
 public:
  explicit EchoFrameDecoder(uint32_t max_body_bytes = kEchoBodyMaxBytes) : max_body_bytes_(max_body_bytes) {}

  // What lies at the front of `input`, which keeps it. Of a whole frame, input.view(frame_bytes()) shows it in one
  // piece (joined only where it straddles blocks), and input.consume(frame_bytes()) drops it.
  EchoFramePeek peek(Buffer& input) const;
  // Where a whole frame lies at the front of `input`: moves its body into `body`, in place of what that held.
  EchoFrameState next(Buffer& input, Buffer& body) const;
  // The same with the header left on: ready to be sent back as it is.
  EchoFrameState next_frame(Buffer& input, Buffer& frame) const;

  uint32_t max_body_bytes() const { return max_body_bytes_; }

 private:
  uint32_t max_body_bytes_;
};

}  // namespace peal
