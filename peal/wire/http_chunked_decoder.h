// SPDX-License-Identifier: BSD-3-Clause
// HttpChunkedDecoder takes the chunked coding off a body (RFC 9112 7.1) that arrives in pieces of any size. It keeps
// no byte of the body; of the framing it keeps one number and, of the trailers, one line that straddles pieces.
//
// Strict, because two parties that disagree about where a chunk ends disagree about where the next message begins:
// CR LF alone ends a line, a size is hexadecimal digits and nothing else, and it fits 64 bits. Extensions are skipped,
// trailers are checked and dropped. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/wire/http_parse_error.h>

namespace peal {

struct HttpChunkedLimits {
  size_t line_bytes = 4096;          // the size of a chunk with its extensions, which peal ignores
  size_t trailer_bytes = 64 * 1024;  // all trailers together: as much as a head
};

class HttpChunkedDecoder {
 public:
  explicit HttpChunkedDecoder(const HttpChunkedLimits& limits = {}) : limits_(limits) {}

  // Before each body.
  void begin();
  // Takes bytes from the front, up to the end of the first piece of body among them, and returns how many; `piece` is
  // that piece, a view into `bytes`, or empty. Call again with the rest until it is used up, done() or error().
  size_t step(std::string_view bytes, std::string_view& piece);

  bool done() const { return state_ == State::kDone; }
  HttpParseError error() const { return error_; }

 private:
  enum class State : uint8_t { kSize, kSpace, kExtension, kSizeEnd, kData, kDataReturn, kDataEnd, kTrailers, kDone };

  size_t take_size_line(std::string_view bytes);
  bool take_size_byte(char byte);
  size_t take_data_end(std::string_view bytes);
  size_t take_trailers(std::string_view bytes);
  bool take_trailer_line(std::string_view line);
  bool fail_with(HttpParseError error);

  HttpChunkedLimits limits_;
  State state_ = State::kSize;
  HttpParseError error_ = HttpParseError::kNone;
  bool has_digit_ = false;
  uint64_t remaining_ = 0;    // of this chunk: its size as far as read, then its data still to come
  size_t framing_bytes_ = 0;  // of this size line, or of the trailers
  std::string held_;          // the beginning of a trailer line
};

}  // namespace peal
