// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_request_parser.h>

#include <algorithm>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/wire/http/parts/http_head_reader.h>

namespace peal {
namespace {

// The number of empty lines that are ignored before a request line. RFC 9112 2.2 requires at least one, because some
// clients send an additional CR LF after a body.
constexpr int kMostEmptyLines = 2;

}  // namespace

HttpRequestParser::HttpRequestParser(const HttpLimits& limits)
    : limits_(&limits), body_limit_bytes_(limits.body_bytes) {
  if (limits.head_bytes > kMostHttpHeadBytes || limits.fields == 0) {
    throw_bad_value(
        "HttpLimits of {} head_bytes and {} fields; at most {} head_bytes and at least 1 field are possible",
        limits.head_bytes, limits.fields, kMostHttpHeadBytes);
  }
}

[[gnu::always_inline]] inline HttpRequestStep HttpRequestParser::take_head(std::string_view input,
                                                                           HttpRequestHead& head) {
  size_t skipped = 0;
  if (state_ == State::kStart) {
    if (input.empty()) return {};
    if (input[0] == '\r' || input[0] == '\n') {
      skipped = skip_empty_lines(input);
      if (error_ != HttpParseError::kNone) return fail_with(error_);
      if (skipped == input.size() || input[skipped] == '\r') return {.consumed = skipped};
      input.remove_prefix(skipped);
    }
    if (line_begin_ == 0) head.request_line_ = {};
  }
  head.base_ = input.data();
  const size_t readable = std::min<size_t>(input.size(), limits_->head_bytes + 2);
  detail::HttpHeadReader reader(head, *limits_, head.base_, head.base_ + readable);
  reader.read(head.base_ + line_begin_, head.base_ + scanned_, state_ == State::kFields);
  if (reader.error() != HttpParseError::kNone) return fail_with(reader.error());
  line_begin_ = static_cast<uint32_t>(reader.line() - head.base_);
  if (!reader.done()) {
    scanned_ = static_cast<uint32_t>(reader.scanned() - head.base_);
    state_ = reader.in_fields() ? State::kFields : State::kStart;
    return {.consumed = skipped};
  }
  const size_t head_bytes = std::exchange(line_begin_, 0);
  head.request_line_.head_bytes = static_cast<uint16_t>(head_bytes);
  scanned_ = 0;
  empty_lines_ = 0;
  body_bytes_ = 0;
  body_limit_bytes_ = limits_->body_bytes;
  remaining_ = head.content_length().value_or(0);
  is_chunked_ = head.chunked();
  state_ = head.has_body() ? State::kBodyDue : State::kEndDue;
  return {.event = HttpRequestEvent::kHead, .consumed = skipped + head_bytes};
}

HttpRequestStep HttpRequestParser::next(std::string_view input, HttpRequestHead& head) {
  switch (state_) {
    case State::kStart:
    case State::kFields: return take_head(input, head);
    case State::kEndDue: state_ = State::kStart; return {.event = HttpRequestEvent::kEnd};
    case State::kBroken: return {.event = HttpRequestEvent::kFailed};
    default: return take_body(input);
  }
}

// Returns how many bytes at the front of `input` are complete empty lines. A CR at the end of the input is not counted,
// because its LF may follow. Sets error_ if a line is malformed or if more than kMostEmptyLines lines are empty.
size_t HttpRequestParser::skip_empty_lines(std::string_view input) {
  size_t at = 0;
  while (at < input.size() && (input[at] == '\r' || input[at] == '\n')) {
    if (input[at] == '\n') {
      error_ = HttpParseError::kBadLineEnd;
      break;
    }
    if (at + 1 == input.size()) break;
    if (input[at + 1] != '\n' || ++empty_lines_ > kMostEmptyLines) {
      error_ = HttpParseError::kBadRequestLine;
      break;
    }
    at += 2;
  }
  return at;
}

HttpRequestStep HttpRequestParser::take_body(std::string_view input) {
  if (state_ == State::kBodyDue) {
    if (remaining_ > body_limit_bytes_) return fail_with(HttpParseError::kBodyTooLarge);
    state_ = is_chunked_ ? State::kChunked : State::kFixed;
    if (is_chunked_) begin_chunks();
  }
  if (state_ == State::kChunked) return take_chunked(input);
  if (input.empty()) return {};
  const std::string_view piece = input.substr(0, std::min<uint64_t>(remaining_, input.size()));
  remaining_ -= piece.size();
  body_bytes_ += piece.size();
  if (remaining_ == 0) state_ = State::kEndDue;
  return {.event = HttpRequestEvent::kBody, .consumed = piece.size(), .body = piece};
}

void HttpRequestParser::begin_chunks() {
  if (chunks_ == nullptr) {
    chunks_ = std::make_unique<HttpChunkedDecoder>(HttpChunkedLimits{.line_bytes = limits_->chunk_line_bytes,
                                                                     .extension_bytes = limits_->chunk_extension_bytes,
                                                                     .trailer_bytes = limits_->trailer_bytes});
  }
  chunks_->begin();
}

HttpRequestStep HttpRequestParser::take_chunked(std::string_view input) {
  std::string_view piece;
  const size_t used = chunks_->step(input, piece);
  if (!piece.empty()) {
    // If a piece crosses the limit, its bytes within the limit are still returned. So the events do not depend on how
    // the input is split.
    const std::string_view allowed = piece.substr(0, std::min<uint64_t>(piece.size(), body_limit_bytes_ - body_bytes_));
    body_bytes_ += allowed.size();
    if (allowed.empty()) return fail_with(HttpParseError::kBodyTooLarge);
    if (allowed.size() < piece.size()) fail_with(HttpParseError::kBodyTooLarge);
    return {.event = HttpRequestEvent::kBody, .consumed = used, .body = allowed};
  }
  if (chunks_->error() != HttpParseError::kNone) return fail_with(chunks_->error());
  if (!chunks_->done()) return {.consumed = used};
  state_ = State::kStart;
  return {.event = HttpRequestEvent::kEnd, .consumed = used};
}

HttpRequestStep HttpRequestParser::fail_with(HttpParseError error) {
  state_ = State::kBroken;
  error_ = error;
  return {.event = HttpRequestEvent::kFailed};
}

}  // namespace peal
