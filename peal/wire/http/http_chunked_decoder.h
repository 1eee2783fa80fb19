// SPDX-License-Identifier: BSD-3-Clause
// HttpChunkedDecoder takes the chunked coding off a body (RFC 9112 7.1) that arrives in pieces of any size. It keeps
// no byte of the body; of the framing it keeps one number and the trailers, where there are any.
//
// Strict, because two parties that disagree about where a chunk ends disagree about where the next message begins:
// CR LF alone ends a line, a size is hexadecimal digits and nothing else, and it fits 64 bits; an extension is a name
// with perhaps a value, or it is an error. Extensions are skipped. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/wire/http/http_parse_error.h>

namespace peal {

struct HttpChunkedLimits {
  size_t line_bytes = 4096;            // the size of a chunk with its extensions, which peal ignores
  size_t extension_bytes = 64 * 1024;  // the extensions of all chunks of a body
  size_t trailer_bytes = 64 * 1024;    // all trailers together: as much as a head
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
  // Of a body that is done: its trailer lines, each with its CR LF, for next_http_field(). Good until begin().
  std::string_view trailers() const { return std::string_view(trailers_).substr(0, line_begin_); }
  // Between bodies: gives back what long trailers took.
  void trim();
  // What it holds for the next trailers, beside itself.
  size_t memory_bytes() const { return trailers_.capacity(); }

 private:
  enum class State : uint8_t {
    kSize,
    kSpace,      // white space behind the size or an extension's name, which something must follow
    kExtension,  // behind ';': white space, then a name
    kName,
    kValue,  // behind '=': white space, then a token or a quoted string
    kToken,
    kQuoted,
    kEscaped,  // behind '\' in a quoted string
    kUnquoted,
    kSizeEnd,
    kData,
    kDataReturn,
    kDataEnd,
    kTrailers,
    kDone,
  };

  size_t take_size_line(std::string_view bytes);
  bool take_size_byte(char byte);
  bool take_extension_byte(char byte);
  bool go_to(State state) {
    state_ = state;
    return true;
  }
  size_t take_data_end(std::string_view bytes);
  size_t take_trailers(std::string_view bytes);
  void take_trailer_line();
  bool fail_with(HttpParseError error);

  HttpChunkedLimits limits_;
  State state_ = State::kSize;
  HttpParseError error_ = HttpParseError::kNone;
  bool has_digit_ = false;
  bool has_name_ = false;       // of the extension that this white space follows
  uint64_t remaining_ = 0;      // of this chunk: its size as far as read, then its data still to come
  size_t line_bytes_ = 0;       // of this size line
  size_t extension_bytes_ = 0;  // of all of them
  size_t line_begin_ = 0;       // in trailers_: where the line begins that is not whole
  std::string trailers_;
};

}  // namespace peal
