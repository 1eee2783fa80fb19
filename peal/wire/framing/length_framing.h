// SPDX-License-Identifier: BSD-3-Clause
// Two framings (frame.h) that send the length of each body before the body:
// - LengthFraming: the length is an integer of a fixed size.
// - VarintFraming: the length is a varint (varint.h). The function writeDelimitedTo() of protobuf writes this format.
//
//   00 00 00 05  h e l l o │ 00 00 00 00 │ ...
//
// A body may be empty. The limit is checked as soon as the length has arrived. No memory is allocated for a body before
// its bytes arrive. Values without I/O; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/frame.h>
#include <peal/wire/framing/integer_bytes.h>

namespace peal {

struct LengthFraming {
  // The size of the length in bytes, 1 to 8. With any other value each function throws std::invalid_argument.
  size_t length_bytes = 4;

  bool big_endian = true;

  // True if the length counts its own bytes as well as the body. If false, the length counts the body only.
  bool counts_itself = false;

  // The longest body. If a body is longer, peek() and next() return kTooLong.
  size_t limit_bytes = 1024 * 1024;

  // Finds the first message of an input that has `available` bytes. `first` is the contiguous part at the front of the
  // input. The result is kMore if `first` has fewer than length_bytes bytes, even if the rest of the length is in the
  // input.
  FramePeek peek(std::string_view first, size_t available) const {
    detail::check_width(length_bytes);
    if (std::min(first.size(), available) < length_bytes) return {};
    const uint64_t length = detail::load_integer(first, length_bytes, big_endian);
    const uint64_t itself = counts_itself ? length_bytes : 0;
    FramePeek found{.header_bytes = length_bytes, .body_bytes = length - itself};
    if (length < itself) [[unlikely]] {
      found = {.state = FrameState::kTooShort, .header_bytes = length_bytes};
    } else if (found.body_bytes > limit_bytes) [[unlikely]] {
      found.state = FrameState::kTooLong;
    } else if (available - length_bytes >= found.body_bytes) {
      found.state = FrameState::kWhole;
    }
    return found;
  }

  // Finds the first message of an input that is contiguous.
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }

  // Finds the first message of a Buffer. Joins only the blocks that contain the length.
  FramePeek peek(Buffer& input) const {
    const std::string_view first = input.front();
    if (input.is_contiguous()) [[likely]]
      return peek(first, first.size());
    const size_t available = input.size();
    return peek(first.size() < length_bytes && available >= length_bytes ? input.view(length_bytes) : first, available);
  }

  // Removes the first message from `input` and moves its body into `body`, if the result is kWhole. The body stays in
  // the blocks in which it arrived. With any other result neither buffer changes.
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }

  // Works like next(), but the length stays before the body, so that the message can be passed on unchanged.
  FrameState next_frame(Buffer& input, Buffer& frame) const {
    return detail::next_message(*this, input, frame, &take_frame);
  }

  // Appends a message. Throws std::invalid_argument and appends nothing if the body is longer than limit_bytes, or if
  // its length does not fit into length_bytes.
  void append(Buffer& output, std::string_view body) const;  // copies the body
  void append(Buffer& output, Buffer&& body) const;          // moves the body

 private:
  void append_length(Buffer& output, size_t body_bytes) const;
};

struct VarintFraming {
  // The longest body. peek() and next() return kTooLong if a body is longer, or if its length is not a varint of at
  // most 64 bits.
  size_t limit_bytes = 1024 * 1024;

  // peek(), next(), next_frame() and append() work like those of LengthFraming.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const;
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }
  FrameState next_frame(Buffer& input, Buffer& frame) const {
    return detail::next_message(*this, input, frame, &take_frame);
  }
  void append(Buffer& output, std::string_view body) const;
  void append(Buffer& output, Buffer&& body) const;
};

}  // namespace peal
