// SPDX-License-Identifier: BSD-3-Clause
// LengthFraming: an integer of a fixed size before each body says how long the body is. VarintFraming: the integer is a
// varint, which is what protobuf's writeDelimitedTo() writes in other languages. Pure; any thread.
//
//   00 00 00 05  h e l l o │ 00 00 00 00 │ ...
//
// A body may be empty. The limit is checked as soon as the length has arrived, and no memory is reserved for a body
// before its bytes arrive.
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
  size_t length_bytes = 4;  // 1 to 8; with any other value each function throws std::invalid_argument
  bool big_endian = true;
  // Whether the length is that of the whole message. Otherwise it is that of the body.
  bool counts_itself = false;
  // The longest body. A longer one is kTooLong.
  size_t limit_bytes = 1024 * 1024;

  // Looks at an input of `available` bytes, of which `first` are contiguous. The answer is kMore if `first` is shorter
  // than the length, even if the other bytes of the length have arrived.
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
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  // Joins the blocks that the length lies in, and no others.
  FramePeek peek(Buffer& input) const {
    const std::string_view first = input.front();
    if (input.is_contiguous()) [[likely]]
      return peek(first, first.size());
    const size_t available = input.size();
    return peek(first.size() < length_bytes && available >= length_bytes ? input.view(length_bytes) : first, available);
  }
  // kWhole: removes the first message from `input` and moves its body into `body`, in the blocks it arrived in. With
  // any other answer neither changes.
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }
  // The same with the length left before the body, to pass the message on.
  FrameState next_frame(Buffer& input, Buffer& frame) const {
    return detail::next_message(*this, input, frame, &take_frame);
  }
  // Appends a message. A body that is longer than limit_bytes, or than the length can express, throws
  // std::invalid_argument, and nothing is appended.
  void append(Buffer& output, std::string_view body) const;  // copied
  void append(Buffer& output, Buffer&& body) const;          // moved

 private:
  void append_length(Buffer& output, size_t body_bytes) const;
};

struct VarintFraming {
  // The longest body. A longer one is kTooLong, and so is a length that is no varint of 64 bits.
  size_t limit_bytes = 1024 * 1024;

  // Like the functions of LengthFraming.
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
