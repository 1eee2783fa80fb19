// SPDX-License-Identifier: BSD-3-Clause
// HttpChunkedDecoder removes the chunked coding from a body (RFC 9112 7.1) that arrives in pieces of any size. The
// decoder stores no byte of the body. It stores the size of the current chunk, and the trailers if there are any.
//
// The decoder is strict, because two parties that disagree about the end of a chunk also disagree about the beginning
// of the next message:
// - Only CR LF ends a line.
// - A chunk size consists of hexadecimal digits only and fits into 64 bits.
// - A chunk extension is a name or a name with a value; anything else is an error. Valid extensions are ignored.
// The decoder does no I/O; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/wire/http/http_parse_error.h>

namespace peal {

struct HttpChunkedLimits {
  size_t line_bytes = 4096;            // the size line of one chunk: size, extensions, CR LF
  size_t extension_bytes = 64 * 1024;  // the extensions of all chunks of one body
  size_t trailer_bytes = 64 * 1024;    // all trailer lines of one body, with the empty line that ends them
};

class HttpChunkedDecoder {
 public:
  explicit HttpChunkedDecoder(const HttpChunkedLimits& limits = {}) : limits_(limits) {}

  // Starts the next body. Call before each body except the first one.
  void begin();

  // Reads bytes from the front of `bytes`, at most up to the end of the first piece of the body, and returns how many
  // bytes were read. Sets `piece` to that piece, which is a view into `bytes`. If no byte of the body was read, `piece`
  // is empty. Call step() again with the remaining bytes until all are read, done() is true, or error() is not kNone.
  size_t step(std::string_view bytes, std::string_view& piece);

  // True if the body and its trailers are complete.
  bool done() const { return state_ == State::kDone; }

  // Returns kBadChunk, kChunkLineTooLong, kBadLineEnd, kBadHeader or kHeadTooLarge after a fault, otherwise kNone.
  // After a fault step() reads nothing until begin().
  HttpParseError error() const { return error_; }

  // Returns the trailer lines of a body that is done(), each with its CR LF. next_http_field() splits them. The view is
  // valid until begin() or trim().
  std::string_view trailers() const { return std::string_view(trailers_).substr(0, line_begin_); }

  // Frees the memory of the trailers if it is more than 512 bytes. Call between two bodies.
  void trim();

  // Returns how many bytes are allocated for trailers; sizeof(HttpChunkedDecoder) is not included.
  size_t memory_bytes() const { return trailers_.capacity(); }

 private:
  enum class State : uint8_t {
    kSize,
    kSpace,      // in white space after the size, a name or a value; ';' or '=' must follow
    kExtension,  // after ';': white space, then a name, is expected
    kName,
    kValue,  // after '=': white space, then a token or a quoted string, is expected
    kToken,
    kQuoted,
    kEscaped,   // after '\' in a quoted string
    kUnquoted,  // after the quote that ends a quoted string
    kSizeEnd,   // after the CR of the size line: LF is expected
    kData,
    kDataReturn,  // after the data of a chunk: CR is expected
    kDataEnd,     // after that CR: LF is expected
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
  bool has_name_ = false;       // true if an extension's name was just read, so that '=' may follow
  uint64_t remaining_ = 0;      // in kSize: the chunk size read so far; in kData: the bytes still to come
  size_t line_bytes_ = 0;       // bytes of this size line so far
  size_t extension_bytes_ = 0;  // bytes of all extensions of this body so far
  size_t line_begin_ = 0;       // offset in trailers_ of the line that is not complete yet
  std::string trailers_;        // the complete trailer lines, followed by the incomplete one
};

}  // namespace peal
