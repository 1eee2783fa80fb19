// SPDX-License-Identifier: BSD-3-Clause
// DelimiterFraming: each body is followed by the same bytes, which no body contains. LineFraming: each message is a
// line that ends in LF or CRLF. Pure; any thread.
//
//   peal::DelimiterFraming framing{.delimiter = "||"};
//   peal::LineFraming lines{.limit_bytes = 512};
//
// Each call searches the input from its front, because a framing has no state. So a message that arrives in many small
// pieces costs their number times its length: choose the limit near what your protocol needs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/frame.h>

namespace peal {

struct DelimiterFraming {
  std::string delimiter;  // one byte at least; if it is empty, each function throws std::invalid_argument
  // The longest body, without the delimiter. A longer one is kTooLong.
  size_t limit_bytes = 64 * 1024;

  // Looks at an input of `available` bytes, of which `first` are contiguous. The answer is kMore if `first` contains no
  // delimiter, even if the bytes that follow elsewhere contain one.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  // Joins blocks if the first one contains no delimiter. To join 4 GiB throws std::invalid_argument.
  FramePeek peek(Buffer& input) const;
  // kWhole: removes the first message from `input` and moves its body into `body`, in the blocks it arrived in. With
  // any other answer neither changes.
  FrameState next(Buffer& input, Buffer& body) const { return detail::next_message(*this, input, body, &take_body); }
  // The same with the delimiter left behind the body, to pass the message on.
  FrameState next_frame(Buffer& input, Buffer& frame) const {
    return detail::next_message(*this, input, frame, &take_frame);
  }
  // Appends a message. std::invalid_argument is thrown, and nothing is appended, if the body is longer than limit_bytes
  // or contains the delimiter, or if the delimiter would begin in it: "a|" and "||" would be read as "a" and "|".
  void append(Buffer& output, std::string_view body) const;
};

struct LineFraming {
  // The longest line, without its end. A longer one is kTooLong.
  size_t limit_bytes = 64 * 1024;
  // Which end append() writes. Both ends are read.
  bool ends_in_crlf = false;

  // Like the functions of DelimiterFraming. The body is the line without its end. A CR that no LF follows belongs to
  // the body.
  FramePeek peek(std::string_view first, size_t available) const;
  FramePeek peek(std::string_view bytes) const { return peek(bytes, bytes.size()); }
  FramePeek peek(Buffer& input) const;
  FrameState next(Buffer& input, Buffer& line) const { return detail::next_message(*this, input, line, &take_body); }
  FrameState next_frame(Buffer& input, Buffer& frame) const {
    return detail::next_message(*this, input, frame, &take_frame);
  }
  // A line that is longer than limit_bytes or contains LF throws std::invalid_argument. A line that ends in CR gets
  // CRLF in any case: before LF alone a reader would take its CR for part of the end.
  void append(Buffer& output, std::string_view line) const;
};

}  // namespace peal
