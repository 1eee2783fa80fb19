// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/framing/frame.h>

#include <utility>

namespace peal {
namespace {

// Removes `bytes` bytes from the front of `input` and returns them.
Buffer cut_off(Buffer& input, size_t bytes) { return bytes == input.size() ? std::move(input) : input.take(bytes); }

}  // namespace

void take_body(Buffer& input, const FramePeek& found, Buffer& body) {
  input.consume(found.header_bytes);
  body = cut_off(input, found.body_bytes);
  input.consume(found.trailer_bytes);
}

void take_frame(Buffer& input, const FramePeek& found, Buffer& frame) { frame = cut_off(input, found.frame_bytes()); }

}  // namespace peal
