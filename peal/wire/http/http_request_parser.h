// SPDX-License-Identifier: BSD-3-Clause
// HttpRequestParser: a server's view of HTTP/1.0 and 1.1 requests (RFC 9112) that arrive in pieces of any size.
//
//   input ──► next() ──► kHead ──► kBody ... ──► kEnd ──► kHead ...          (pipelined: the next request at once)
//                └─ kNeedMore: show what was not consumed again, with more behind it
//                └─ kFailed:   answer with http_status(error()), then close
//
// A head is read where it lies: until it is whole, nothing of it is consumed, so the caller shows its beginning again
// in one contiguous view (what Connection's Buffer does anyway). Lines that were read are not read again, nor is a line
// that arrives byte by byte. A body streams: each piece is handed on as it comes and nothing of it is kept.
//
// Strict wherever two readers could disagree about where a message ends or whom it is for (request smuggling lives on
// that); docs/http.md lists what is refused and with which status. Any split of the same input gives the same events.
// A line is judged when its end has come, or a byte that no line may hold.
//
// Pure; one thread at a time. One per connection, small: 56 bytes while idle.
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
  kNeedMore,  // nothing complete is left in the input
  kHead,      // the head is complete; its views are good until the input is consumed
  kBody,      // a piece of the body, never empty
  kEnd,       // the request is complete; also of one without a body
  kFailed,    // error(); nothing more will come
};

struct HttpRequestStep {
  HttpRequestEvent event = HttpRequestEvent::kNeedMore;
  size_t consumed = 0;    // of the front of the input; with kNeedMore too, where framing was taken
  std::string_view body;  // of kBody: a view into the input
};

class HttpRequestParser {
 public:
  // `limits` stays with the caller (one for a whole server) and outlives the parser. std::invalid_argument for more
  // than kMostHttpHeadBytes, or no fields.
  explicit HttpRequestParser(const HttpLimits& limits);

  // Reads on in `input`, whose first byte is the first not yet consumed. `head` is filled while a head is read and must
  // be the same object from its first byte to kHead; from kHead on the parser does not touch it.
  HttpRequestStep next(std::string_view input, HttpRequestHead& head);

  // Instead of next({}), after the kHead of a request without a body: its kEnd.
  void take_end() {
    PEAL_ASSERT(state_ == State::kEndDue, "take_end() before the end of the request, in state {}",
                static_cast<int>(state_));
    state_ = State::kStart;
  }

  // The limit of this request's body, in place of HttpLimits::body_bytes: to be set between kHead and what follows. A
  // Content-Length beyond it fails in the next call, before any of the body is taken.
  void set_body_limit(uint64_t bytes) { body_limit_bytes_ = bytes; }
  // Of this request's body so far, chunk framing taken off.
  uint64_t body_bytes() const { return body_bytes_; }

  // Between requests: not one byte of the next one was seen.
  bool is_idle() const { return state_ == State::kStart && scanned_ == 0 && empty_lines_ == 0; }
  // Wants a head, in one contiguous view; else a body, in views as they come.
  bool in_head() const { return state_ <= State::kFields; }
  // The trailers of the body that just ended (kEnd), each line with its CR LF; good until the next call. The lines are
  // well-formed; next_http_field() takes them apart.
  std::string_view trailers() const {
    return is_chunked_ && chunks_ != nullptr ? chunks_->trailers() : std::string_view();
  }

  HttpParseError error() const { return error_; }
  // What it holds for the next body, beside itself.
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
  std::unique_ptr<HttpChunkedDecoder> chunks_;  // from the first chunked body on
  uint64_t body_limit_bytes_;
  uint64_t body_bytes_ = 0;
  uint64_t remaining_ = 0;   // of a body of fixed length
  uint32_t line_begin_ = 0;  // of the head: where the line begins that is not yet read
  uint32_t scanned_ = 0;     // of the head: up to here no byte ends that line
  State state_ = State::kStart;
  HttpParseError error_ = HttpParseError::kNone;
  uint8_t empty_lines_ = 0;
  bool is_chunked_ = false;
};

}  // namespace peal
