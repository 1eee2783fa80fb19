// SPDX-License-Identifier: BSD-3-Clause
// A framing divides a stream of bytes into messages: it finds where each message ends and the next one begins. This
// file declares what all framings share. The framings of peal:
//
//   LengthFraming     an integer before each body is the length of the body     length_framing.h
//   VarintFraming     a varint before each body is the length of the body       length_framing.h
//   LineFraming       LF or CRLF follows each body                              delimiter_framing.h
//   DelimiterFraming  bytes that the user chooses follow each body              delimiter_framing.h
//
//   │ header │ body │ trailer │ header │ body │ trailer │ ...
//
//   peal::Buffer body;
//   while (framing.next(input, body) == peal::FrameState::kWhole) answer(body.view());
//
// A framing is a value and has no state between two calls. The bytes of an incomplete message stay in the input until
// the rest has arrived. A framing does no I/O; any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>

namespace peal {

enum class FrameState : uint8_t {
  kWhole,  // the first message is complete
  kMore,   // more bytes are needed
  // The body is longer than the framing's limit_bytes. The rest of the stream cannot be read.
  kTooLong,
  // The length is too small to be true. An example is a length that counts its own bytes and is smaller than their
  // number. The rest of the stream cannot be read.
  kTooShort,
};

// Returns the error of a connection that is closed because of kTooLong or kTooShort.
constexpr Trouble trouble_of(FrameState state) {
  return state == FrameState::kTooShort ? Trouble::kMessageTooShort : Trouble::kMessageTooLong;
}

// The result of peek(): the state of the first message in the input, and the sizes of its parts.
struct FramePeek {
  FrameState state = FrameState::kMore;
  size_t header_bytes = 0;   // 0 until the header is complete
  size_t body_bytes = 0;     // 0 until the length is known
  size_t trailer_bytes = 0;  // 0 until the message is complete

  // Returns the size of the message with header and trailer. If the state is not kWhole, counts only the parts whose
  // size is known.
  size_t frame_bytes() const { return header_bytes + body_bytes + trailer_bytes; }
};

// A type that messages() (peal/net/messages.h) and Stream::read() accept as a framing. A framing of your own must have
// these functions:
//   peek(first, available)  finds the first message of an input of `available` bytes, of which `first` are contiguous
//   peek(buffer)            finds the first message of a Buffer; may join its blocks
//   append(buffer, body)    appends a message
// A message that is kWhole must have at least one byte in its header, body and trailer together.
template <class T>
concept Framing =
    std::copyable<T> && requires(const T& framing, std::string_view first, size_t available, Buffer& buffer) {
      { framing.peek(first, available) } -> std::same_as<FramePeek>;
      { framing.peek(buffer) } -> std::same_as<FramePeek>;
      framing.append(buffer, first);
    };

// Removes the first message from `input` and moves its body into `body`. The body stays in the blocks in which it
// arrived. `found` must be the result of peek() for this input and be kWhole. `body` must be another Buffer; its old
// content is replaced.
void take_body(Buffer& input, const FramePeek& found, Buffer& body);

// Works like take_body(), but moves header, body and trailer into `frame`, so that the message can be passed on.
void take_frame(Buffer& input, const FramePeek& found, Buffer& frame);

namespace detail {

// Finds the first message of `input` and returns its state. If the message is complete, calls `take` (take_body or
// take_frame).
template <class Its>
FrameState next_message(const Its& framing, Buffer& input, Buffer& message,
                        void (*take)(Buffer&, const FramePeek&, Buffer&)) {
  const FramePeek found = framing.peek(input);
  if (found.state == FrameState::kWhole) take(input, found, message);
  return found.state;
}

}  // namespace detail

}  // namespace peal
