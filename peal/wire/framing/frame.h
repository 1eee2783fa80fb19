// SPDX-License-Identifier: BSD-3-Clause
// A framing says where one message of a stream of bytes ends and where the next one begins. This file has what all
// framings share. The framings of peal:
//
//   LengthFraming     an integer before each body says how long the body is     length_framing.h
//   VarintFraming     the same with a varint                                    length_framing.h
//   LineFraming       LF or CRLF follows each body                              delimiter_framing.h
//   DelimiterFraming  bytes that the user chooses follow each body              delimiter_framing.h
//
//   │ header │ body │ trailer │ header │ body │ trailer │ ...
//
//   peal::Buffer body;
//   while (framing.next(input, body) == peal::FrameState::kWhole) answer(body.view());
//
// A framing is a value and has no state between two calls. Bytes of an incomplete message stay in the input until the
// rest has arrived. Pure; any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>

namespace peal {

enum class FrameState : uint8_t {
  kWhole,     // the first message is complete
  kMore,      // more bytes are needed
  kTooLong,   // the body is longer than the framing's limit_bytes; the rest of the stream cannot be read
  kTooShort,  // the length is smaller than the least that the framing needs (a length that counts itself: its own
              // size); the rest of the stream cannot be read
};

// The error of a message that is kTooLong or kTooShort.
constexpr Trouble trouble_of(FrameState state) {
  return state == FrameState::kTooShort ? Trouble::kMessageTooShort : Trouble::kMessageTooLong;
}

// The first message of an input.
struct FramePeek {
  FrameState state = FrameState::kMore;
  size_t header_bytes = 0;   // 0 until the header is complete
  size_t body_bytes = 0;     // 0 until the length is known
  size_t trailer_bytes = 0;  // 0 until the message is complete

  size_t frame_bytes() const { return header_bytes + body_bytes + trailer_bytes; }
};

// What messages() (peal/net/messages.h) and Stream::read() take. A user's own framing has these functions too.
//   peek(first, available)  looks at an input of `available` bytes, of which `first` are contiguous
//   peek(buffer)            the same for a Buffer; may join its blocks
//   append(buffer, body)    appends a message
// A message that is kWhole has one byte at least, in its header, body or trailer.
template <class T>
concept Framing =
    std::copyable<T> && requires(const T& framing, std::string_view first, size_t available, Buffer& buffer) {
      { framing.peek(first, available) } -> std::same_as<FramePeek>;
      { framing.peek(buffer) } -> std::same_as<FramePeek>;
      framing.append(buffer, first);
    };

// Removes the message that `found` describes from the front of `input` and moves its body into `body`. The body stays
// in the blocks it arrived in. `found` is what peek() answered for this input, and is kWhole. `body` is another Buffer.
void take_body(Buffer& input, const FramePeek& found, Buffer& body);
// The same with header and trailer, to pass the message on.
void take_frame(Buffer& input, const FramePeek& found, Buffer& frame);

namespace detail {

template <class Its>
FrameState next_message(const Its& framing, Buffer& input, Buffer& message,
                        void (*take)(Buffer&, const FramePeek&, Buffer&)) {
  const FramePeek found = framing.peek(input);
  if (found.state == FrameState::kWhole) take(input, found, message);
  return found.state;
}

}  // namespace detail

}  // namespace peal
