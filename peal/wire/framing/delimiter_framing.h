// SPDX-License-Identifier: BSD-3-Clause
// Two framings (frame.h) that mark the end of each message in the stream:
// - DelimiterFraming: each body is followed by the same bytes, the delimiter. No body may contain it.
// - LineFraming: each message is a line that ends in LF or CRLF.
//
//   peal::DelimiterFraming framing{.delimiter = "||"};
//   peal::LineFraming lines{.limit_bytes = 512};
//
// A framing has no state, so each call searches the input from its front. The cost of a message that arrives in many
// small pieces is the number of pieces times the length of the message. So set limit_bytes not much higher than your
// protocol needs. Values without I/O; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/frame.h>

namespace peal {

struct DelimiterFraming {
  std::string delimiter;  // at least one byte; if it is empty, each function throws std::invalid_argument

  // The longest body, without the delimiter. If a body is longer, peek() and next() return kTooLong.
  size_t limit_bytes = 64 * 1024;

  // Finds the first message of an input that has `available` bytes. `first` is the contiguous part at the front of the
  // input. The result is kMore if `first` contains no delimiter, even if the rest of the input contains one. The result
  // is kTooLong if `first` shows that the body exceeds the limit.
  FramePeek peek(std::string_view first, size_t available) const;

  // Finds the first message of an input that is contiguous.
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }

  // Finds the first message of a Buffer. Joins its blocks if the first block contains no delimiter. Throws
  // std::invalid_argument if 4 GiB or more would be joined.
  FramePeek peek(Buffer& input) const;

  // Removes the first message from `input` and moves its body into `body`, if the result is kWhole. The body stays in
  // the blocks in which it arrived. With any other result neither buffer changes.
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }

  // Works like next(), but the delimiter stays after the body, so that the message can be passed on unchanged.
  FrameState next_frame(Buffer& input, Buffer& frame) const {
    return detail::next_message(*this, input, frame, &take_frame);
  }

  // Appends a message. Throws std::invalid_argument and appends nothing if a reader could not read the message back:
  // - the body is longer than limit_bytes;
  // - the body contains the delimiter;
  // - a delimiter begins inside the body: "a|" with the delimiter "||" would be read as "a" and "|".
  void append(Buffer& output, std::string_view body) const;
};

struct LineFraming {
  // The longest line, without LF or CRLF. If a line is longer, peek() and next() return kTooLong.
  size_t limit_bytes = 64 * 1024;

  // True if append() writes CRLF, false if it writes LF. Lines with either end can always be read.
  bool ends_in_crlf = false;

  // peek(), next() and next_frame() work like those of DelimiterFraming. The body is the line without LF or CRLF. A CR
  // that is not followed by LF belongs to the body.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const;
  FrameState next(Buffer& input, Buffer& line) const { return detail::next_message(*this, input, line, &take_body); }
  FrameState next_frame(Buffer& input, Buffer& frame) const {
    return detail::next_message(*this, input, frame, &take_frame);
  }

  // Appends a line. Throws std::invalid_argument and appends nothing if the line is longer than limit_bytes or contains
  // LF. A line that itself ends in CR always gets CRLF: with LF alone, a reader would remove the CR of the line too.
  void append(Buffer& output, std::string_view line) const;
};

}  // namespace peal
