// SPDX-License-Identifier: BSD-3-Clause
// Echo frames: a chain of blocks and a plain span must frame the same bytes the same way. The first byte of an input
// says how long the parts of the chain are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <models/common/echo/echo_frame.h>
#include <peal/base/assert.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr uint32_t kMost = 100;
  const size_t part_bytes = size_t{data[0]} + 1;
  std::span<const std::byte> bytes = std::as_bytes(std::span(data + 1, size - 1));
  peal::Buffer input;
  for (size_t at = 0; at < bytes.size(); at += part_bytes) {
    peal::Buffer part;
    part.append(bytes.subspan(at, std::min(part_bytes, bytes.size() - at)));
    input.append(std::move(part));
  }
  const peal::EchoFrameDecoder decoder(kMost);
  for (;;) {
    const peal::EchoFramePeek expected = peal::peek_frame(bytes, kMost);
    peal::Buffer body;
    const peal::EchoFrameState state = decoder.next(input, body);
    PEAL_ASSERT(state == expected.state, "the chain and the span disagree at {} bytes", bytes.size());
    if (state != peal::EchoFrameState::kWhole) return 0;
    const auto text = std::as_bytes(std::span(body.view()));
    PEAL_ASSERT(std::ranges::equal(text, bytes.subspan(peal::kEchoHeaderBytes, expected.body_bytes)), "another body");
    bytes = bytes.subspan(expected.frame_bytes());
  }
}
