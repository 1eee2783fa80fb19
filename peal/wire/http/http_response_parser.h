// SPDX-License-Identifier: BSD-3-Clause
// HttpResponseParser parses the HTTP/1.1 responses (RFC 9112) that a client receives in pieces of any size.
//
//   bytes ──► status line, field lines ──► fixed length │ chunked │ until the close ──► done()
//               (1xx: once more)
//
// A line that is complete in the bytes of one call is parsed in place. If a line is cut, its beginning is copied and
// kept until the rest arrives. The size of the whole head is limited, so a peer that sends headers without end costs a
// bounded amount of memory.
//
// Successive responses of a server mostly have the same head; Date changes once a second. So the parser keeps a copy of
// the last head if it has at most 512 bytes. If the next response repeats it byte for byte, the results are reused and
// the head is not parsed again, which takes a quarter of the instructions.
//
// The parser is strict wherever two parties could disagree about the end of a message, because response splitting and
// request smuggling exploit that. Errors are:
// - a line that ends in LF without CR (RFC 9112 2.2 would allow it; no server in use needs it);
// - a folded line, or a space before the colon;
// - a CR without LF, a NUL or another control character;
// - a Content-Length that is not a plain number.
// One harmless mistake is accepted: a status line without the space after the three digits.
//
// The parser does no I/O; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <peal/wire/http/http_body_framing.h>
#include <peal/wire/http/http_chunked_decoder.h>
#include <peal/wire/http/http_parse_error.h>

namespace peal {

struct HttpResponseLimits {
  // The most bytes of a response's head and of the heads of the interim responses before it, all together. The trailers
  // of the response may have the same number of bytes in addition.
  size_t head_bytes = 64 * 1024;
  size_t chunk_line_bytes = 4096;  // the size line of one chunk: size, extensions, CR LF
};

class HttpResponseParser {
 public:
  explicit HttpResponseParser(const HttpResponseLimits& limits = {});

  // Starts a response. Must be called before each response, also before the first one. `answers_head` is true if the
  // response is to a HEAD request: such a response has no body, even if its head has a Content-Length.
  void begin(bool answers_head = false);

  // Parses from the front of `bytes`, skips the body, and returns how many bytes were consumed. If the response is
  // complete (done()) or faulty (error()), bytes may remain. After done() these bytes belong to the next response, or
  // after status 101 to another protocol.
  size_t parse(std::string_view bytes);

  // Parses like parse(bytes) and calls on_body(std::string_view) with each piece of the body, without chunk framing. A
  // piece is a view into `bytes` and never empty. If on_body returns false, parse() returns, and the bytes after this
  // piece are not consumed.
  template <class OnBody>
  size_t parse(std::string_view bytes, OnBody&& on_body);

  // Tells the parser that the peer has closed the connection. Returns true if the response is complete: either its body
  // extends to the close (RFC 9112 6.3, rule 8), or it was done() before. Otherwise returns false, and error() is
  // kCutShort.
  bool end();

  // True if the response with its body and trailers is complete.
  bool done() const { return state_ == State::kDone; }

  // Returns the fault that was found, or kNone.
  HttpParseError error() const { return error_; }

  // True if at least one byte of the response has been consumed.
  bool started() const { return head_bytes_ > 0; }

  // True if the head of the final response is complete, or that of a response 101, after which another protocol
  // follows. Other interim responses (1xx) do not count. False after a fault, also after one in the body. status() and
  // the functions below return the values of this head only if head_complete() is true.
  bool head_complete() const { return state_ >= State::kFixed && state_ != State::kBroken; }

  // Returns the status code, 100 to 999.
  int status() const { return status_; }

  // Returns the minor version, which is the x of HTTP/1.x.
  int minor_version() const { return minor_version_; }

  // True if another request may be sent on this connection after this response (RFC 9112 9.3).
  bool keep_alive() const { return keep_alive_; }

  // Returns how many bytes of the body have been consumed, without chunk framing.
  uint64_t body_bytes() const { return body_bytes_; }

  // Returns the value of Content-Length. Returns nullopt if there is none, or if Transfer-Encoding overrides it.
  std::optional<uint64_t> content_length() const { return framing_.content_length(); }

  bool chunked() const { return framing_.chunked(); }

  // True if the head names a transfer coding other than chunked (RFC 9112 7). The parser does not decode it: the pieces
  // of the body are still encoded with it.
  bool has_other_coding() const { return framing_.has_other_coding(); }

  // Frees the memory of the trailers if it is more than 512 bytes. Call trim() between two responses, because
  // trailers() may be empty afterwards.
  void trim() { chunks_.trim(); }

  // Returns the trailer lines of a chunked response that is done(), each with its CR LF. next_http_field() splits them.
  // The view is valid until begin() or trim().
  std::string_view trailers() const { return done() && chunked() ? chunks_.trailers() : std::string_view(); }

 private:
  enum class State : uint8_t { kStatusLine, kFields, kFixed, kChunked, kUntilClose, kDone, kBroken };

  // Consumes bytes up to the end of the first piece of the body, sets `piece` to that piece, and returns how many bytes
  // were consumed.
  size_t step(std::string_view bytes, std::string_view& piece);
  bool wants_more() const { return state_ < State::kDone; }
  bool in_head() const { return state_ <= State::kFields; }
  bool repeats_last_head(std::string_view bytes) const;
  size_t reuse_last_head();
  [[gnu::noinline]] size_t take_head(std::string_view bytes);
  size_t take_body_of_unknown_length(std::string_view bytes, std::string_view& piece);
  const char* take_plain_head(const char* at, const char* end);
  const char* take_plain_status_line(const char* at, const char* end);
  const char* take_plain_fields(const char* at, const char* end);
  const char* take_lines_thoroughly(const char* at, const char* end);
  bool take_line(std::string_view line);
  bool take_status_line(std::string_view line);
  bool take_field_line(std::string_view line);
  void end_head();
  bool fail_with(HttpParseError error);

  State state_ = State::kStatusLine;
  HttpParseError error_ = HttpParseError::kNone;
  bool answers_head_ = false;
  bool keep_alive_ = false;
  uint8_t minor_version_ = 1;
  int status_ = 0;
  HttpBodyFraming framing_;
  size_t head_bytes_ = 0;
  uint64_t body_bytes_ = 0;
  uint64_t remaining_ = 0;  // bytes still to come of a body with Content-Length
  size_t head_limit_bytes_;
  std::string held_;       // the beginning of a line of the head whose end has not arrived
  std::string last_head_;  // a copy of the head that gave status_, minor_version_ and framing_; empty if it is too long
  HttpChunkedDecoder chunks_;
};

template <class OnBody>
size_t HttpResponseParser::parse(std::string_view bytes, OnBody&& on_body) {
  size_t used = 0;
  while (used < bytes.size() && wants_more()) {
    std::string_view piece;
    used += step(bytes.substr(used), piece);
    if (piece.empty()) continue;
    if constexpr (std::is_void_v<std::invoke_result_t<OnBody&, std::string_view>>) {
      on_body(piece);
    } else if (!on_body(piece)) {
      break;
    }
  }
  return used;
}

}  // namespace peal
