// SPDX-License-Identifier: BSD-3-Clause
// HttpResponseParser: a client's view of an HTTP/1.1 response (RFC 9112) that arrives in pieces of any size.
//
//   bytes ──► status line, field lines ──► fixed length │ chunked │ until the close ──► done()
//               (1xx: once more)
//
// A head that lies whole in the bytes given is read where it lies. Of one that straddles pieces, only the line that is
// cut is kept, and the head as a whole is bounded, so a peer that sends headers for ever costs one line of memory.
// A server says mostly what it said before, Date changing once a second: a head of at most 512 bytes is remembered,
// and one that repeats it byte for byte is recognised instead of read (a quarter of the instructions).
//
// Strict where two readers could disagree about where a message ends (that is what response splitting and request
// smuggling live on): a lone LF does not end a line (RFC 9112 2.2 would allow it; no server in use needs it), folded
// lines, bare CR, NUL and other controls, a space before the colon, and lengths that are no plain number are errors.
// Tolerant of the one slip that cannot mislead: a status line that ends right after the three digits.
//
// Pure; one thread at a time.
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
  size_t head_bytes = 64 * 1024;   // a response's head and those of the interim ones before it; its trailers as much
  size_t chunk_line_bytes = 4096;  // the size of a chunk with its extensions
};

class HttpResponseParser {
 public:
  explicit HttpResponseParser(const HttpResponseLimits& limits = {});

  // Before each response, the first one included. `answers_head`: of a HEAD request, which has no body whatever the
  // head says.
  void begin(bool answers_head = false);

  // Takes bytes from the front and returns how many. Fewer than given: the response is complete (done(); the rest
  // belongs to the next one, or, after 101, to another protocol) or broken (error()).
  size_t parse(std::string_view bytes);
  // The same, and calls on_body(std::string_view) with each piece of the body, chunk framing taken off: a view into
  // `bytes`, never empty. It may answer false to have no more of them now: then fewer bytes are taken.
  template <class OnBody>
  size_t parse(std::string_view bytes, OnBody&& on_body);

  // The peer closed. Completes a response that the close delimits (RFC 9112 6.3 8.); false where the response is cut
  // short, which then is its error().
  bool end();

  bool done() const { return state_ == State::kDone; }
  HttpParseError error() const { return error_; }
  // A byte of it was taken.
  bool started() const { return head_bytes_ > 0; }
  // The final head: status() and what follows are right from here on.
  bool head_complete() const { return state_ >= State::kFixed && state_ != State::kBroken; }

  // 100 to 999.
  int status() const { return status_; }
  // Of HTTP/1.x.
  int minor_version() const { return minor_version_; }
  // Whether another request may be sent on this connection (RFC 9112 9.3).
  bool keep_alive() const { return keep_alive_; }
  // Of the body, so far, chunk framing taken off.
  uint64_t body_bytes() const { return body_bytes_; }
  // What the head says, where a Transfer-Encoding does not overrule it.
  std::optional<uint64_t> content_length() const { return framing_.content_length(); }
  bool chunked() const { return framing_.chunked(); }
  // A transfer coding beside chunked: the body comes as that has made it (RFC 9112 7).
  bool has_other_coding() const { return framing_.has_other_coding(); }
  // Between responses: gives back what long trailers took; they are gone then.
  void trim() { chunks_.trim(); }
  // Of a chunked body that is done: its trailer lines, for next_http_field(). Good until begin().
  std::string_view trailers() const { return done() && chunked() ? chunks_.trailers() : std::string_view(); }

 private:
  enum class State : uint8_t { kStatusLine, kFields, kFixed, kChunked, kUntilClose, kDone, kBroken };

  // One round: takes bytes up to the end of the first piece of body among them.
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
  uint64_t remaining_ = 0;  // of a body of fixed length
  size_t head_limit_bytes_;
  std::string held_;       // the beginning of a line of the head
  std::string last_head_;  // what status_, minor_version_ and framing_ were read from, when it is worth a comparison
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
