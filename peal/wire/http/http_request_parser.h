// SPDX-License-Identifier: BSD-3-Clause
// HttpRequestParser parses the HTTP/1.0 and 1.1 requests (RFC 9112) that a server receives in pieces of any size.
//
//   input ──► next() ──► kHead ──► kBody ... ──► kEnd ──► kHead ...          (pipelining: the next request may follow)
//                └─ kNeedMore: call again with the unconsumed input and the bytes that arrived after it
//                └─ kFailed:   answer with http_status(error()), then close the connection
//
// A head is parsed in place. Nothing of it is consumed until it is complete, so the caller passes its beginning again,
// in one contiguous view, when more bytes have arrived. The Buffer of a Connection provides that. Bytes that were
// parsed already are not parsed again, even if a line arrives byte by byte. A body is passed on in pieces as they
// arrive; nothing of it is stored.
//
// The parser is strict wherever two parties could disagree about the end of a message or about its recipient, because
// request smuggling exploits that. docs/http.md lists what is refused and with which status. The events do not depend
// on how the input is split. The parser accepts or refuses a line when one of these has arrived: its end, a byte that
// no line may contain, or more bytes than its limit.
//
// Each connection has a parser of its own, of 56 bytes while the connection is idle. The parser does no I/O; one thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/http/http_chunked_decoder.h>
#include <peal/wire/http/http_limits.h>
#include <peal/wire/http/http_parse_error.h>
#include <peal/wire/http/http_request_head.h>

namespace peal {

enum class HttpRequestEvent : uint8_t {
  kNeedMore,  // more input is needed before the next event
  kHead,      // the head is complete; its views are valid until the input is consumed
  kBody,      // a piece of the body has arrived; it is never empty
  kEnd,       // the request is complete; a request without a body has this event too
  kFailed,    // the request is faulty, see error(); each further next() returns kFailed
};

struct HttpRequestStep {
  HttpRequestEvent event = HttpRequestEvent::kNeedMore;
  size_t consumed = 0;    // bytes to remove from the front of the input; may be above 0 with kNeedMore too
  std::string_view body;  // with kBody: the piece, a view into the input
};

class HttpRequestParser {
 public:
  // Keeps a reference to `limits`, which must outlive the parser; a server has one HttpLimits for all connections.
  // Throws std::invalid_argument if limits.head_bytes is above kMostHttpHeadBytes or limits.fields is 0.
  explicit HttpRequestParser(const HttpLimits& limits);

  // Parses `input` up to the next event. `input` begins with the first byte that is not consumed yet. While a head is
  // parsed, its parts are stored in `head`, which must be the same object in all calls up to kHead. After kHead the
  // parser does not change `head` until the next request.
  HttpRequestStep next(std::string_view input, HttpRequestHead& head);

  // Ends a request without a body, like a call of next() that returns kEnd, but at less cost. May be called only if the
  // last call of next() returned kHead and the request has no body.
  void take_end() {
    PEAL_ASSERT(state_ == State::kEndDue, "take_end() before the end of the request, in state {}",
                static_cast<int>(state_));
    state_ = State::kStart;
  }

  // Replaces HttpLimits::body_bytes for the body of this request only. Call it after kHead and before the next call of
  // next(). If Content-Length is above the limit, that call of next() fails with kBodyTooLarge and consumes nothing of
  // the body.
  void set_body_limit(uint64_t bytes) { body_limit_bytes_ = bytes; }

  // Returns how many bytes of this request's body next() has returned so far, without chunk framing.
  uint64_t body_bytes() const { return body_bytes_; }

  // True if the last request is complete and no byte of the next one has been seen.
  bool is_idle() const { return state_ == State::kStart && scanned_ == 0 && empty_lines_ == 0; }

  // True if next() parses a head. The input must then be one contiguous view that begins with the first byte of the
  // head. If false, next() parses a body or needs no input, and a view of any available bytes is enough.
  bool in_head() const { return state_ <= State::kFields; }

  // Returns the trailer lines of a chunked body after its kEnd, each with its CR LF. Empty for other requests.
  // next_http_field() splits the lines. The view is valid until the next call of next().
  std::string_view trailers() const {
    return is_chunked_ && chunks_ != nullptr ? chunks_->trailers() : std::string_view();
  }

  HttpParseError error() const { return error_; }

  // Returns how many bytes this object has allocated for chunked bodies. sizeof(HttpRequestParser) is not included.
  size_t memory_bytes() const { return chunks_ == nullptr ? 0 : sizeof *chunks_ + chunks_->memory_bytes(); }

 private:
  enum class State : uint8_t { kStart, kFields, kBodyDue, kFixed, kChunked, kEndDue, kBroken };

  HttpRequestStep take_head(std::string_view input, HttpRequestHead& head);
  HttpRequestStep take_body(std::string_view input);
  HttpRequestStep take_chunked(std::string_view input);
  void begin_chunks();
  size_t skip_empty_lines(std::string_view input);
  HttpRequestStep fail_with(HttpParseError error);

  const HttpLimits* limits_;
  std::unique_ptr<HttpChunkedDecoder> chunks_;  // created for the first chunked body of the connection
  uint64_t body_limit_bytes_;
  uint64_t body_bytes_ = 0;
  uint64_t remaining_ = 0;   // bytes still to come of a body with Content-Length
  uint32_t line_begin_ = 0;  // offset in the head of the first line that is not parsed yet
  uint32_t scanned_ = 0;     // offset in the head up to which that line was searched for its end in vain
  State state_ = State::kStart;
  HttpParseError error_ = HttpParseError::kNone;
  uint8_t empty_lines_ = 0;
  bool is_chunked_ = false;
};

}  // namespace peal
