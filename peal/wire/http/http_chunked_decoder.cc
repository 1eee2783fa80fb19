// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_chunked_decoder.h>

#include <algorithm>

#include <peal/base/memory/memory_charge.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/parts/byte_class.h>
#include <peal/wire/parts/http_text.h>

namespace peal {

void HttpChunkedDecoder::begin() {
  state_ = State::kSize;
  error_ = HttpParseError::kNone;
  has_digit_ = false;
  remaining_ = 0;
  line_bytes_ = 0;
  extension_bytes_ = 0;
  line_begin_ = 0;
  trailers_.clear();
}

void HttpChunkedDecoder::trim() {
  constexpr size_t kKeptBytes = 512;
  if (trailers_.capacity() <= kKeptBytes) return;
  free_storage(trailers_);
  line_begin_ = 0;
}

size_t HttpChunkedDecoder::step(std::string_view bytes, std::string_view& piece) {
  piece = {};
  size_t used = 0;
  while (used < bytes.size() && state_ != State::kDone && error_ == HttpParseError::kNone) {
    const std::string_view rest = bytes.substr(used);
    switch (state_) {
      case State::kData:
        piece = rest.substr(0, std::min<uint64_t>(remaining_, rest.size()));
        remaining_ -= piece.size();
        if (remaining_ == 0) state_ = State::kDataReturn;
        return used + piece.size();
      case State::kDataReturn:
      case State::kDataEnd: used += take_data_end(rest); break;
      case State::kTrailers: used += take_trailers(rest); break;
      default: used += take_size_line(rest); break;
    }
  }
  return used;
}

size_t HttpChunkedDecoder::take_size_line(std::string_view bytes) {
  size_t used = 0;
  while (used < bytes.size() && state_ <= State::kSizeEnd) {
    if (++line_bytes_ > limits_.line_bytes) {
      fail_with(HttpParseError::kChunkLineTooLong);
      return used;
    }
    if (!take_size_byte(bytes[used++])) break;
  }
  return used;
}

// Parses the next byte of the line before a chunk: 1*HEXDIG *( BWS ";" extension ) CR LF (RFC 9112 7.1). White space at
// the end of the line is an error. Returns false at an error.
bool HttpChunkedDecoder::take_size_byte(char byte) {
  if (byte == '\n' && state_ != State::kSizeEnd) return fail_with(HttpParseError::kBadLineEnd);
  if (state_ == State::kSize) {
    if (const int digit = detail::hex_value(byte); digit >= 0) {
      if (remaining_ >> 60 != 0) return fail_with(HttpParseError::kBadChunk);
      remaining_ = remaining_ << 4 | static_cast<uint64_t>(digit);
      has_digit_ = true;
      return true;
    }
    if (!has_digit_) return fail_with(HttpParseError::kBadChunk);
    if (byte == '\r') return go_to(State::kSizeEnd);
    has_name_ = false;
    if (byte == ';') return go_to(State::kExtension);
    return detail::is_blank(byte) ? go_to(State::kSpace) : fail_with(HttpParseError::kBadChunk);
  }
  if (state_ != State::kSizeEnd) {
    if (++extension_bytes_ > limits_.extension_bytes) return fail_with(HttpParseError::kChunkLineTooLong);
    return take_extension_byte(byte) || fail_with(HttpParseError::kBadChunk);
  }
  if (byte != '\n') return fail_with(HttpParseError::kBadChunk);
  state_ = remaining_ > 0 ? State::kData : State::kTrailers;
  line_bytes_ = 0;
  return true;
}

// Parses the next byte of an extension: BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] (RFC 9112 7.1.1).
// Returns false if the byte is not allowed at this place.
bool HttpChunkedDecoder::take_extension_byte(char byte) {
  const bool is_token = detail::kTokenBytes.contains(byte);
  switch (state_) {
    case State::kQuoted:
      if (byte == '"') return go_to(State::kUnquoted);
      if (byte == '\\') return go_to(State::kEscaped);
      return !detail::kControlBytes.contains(byte);
    case State::kEscaped: return !detail::kControlBytes.contains(byte) && go_to(State::kQuoted);
    case State::kExtension: return detail::is_blank(byte) || (is_token && go_to(State::kName));
    case State::kValue:
      if (byte == '"') return go_to(State::kQuoted);
      return detail::is_blank(byte) || (is_token && go_to(State::kToken));
    case State::kName:
    case State::kToken:
      if (is_token) return true;
      has_name_ = state_ == State::kName;
      break;
    case State::kUnquoted: has_name_ = false; break;
    default: break;
  }
  if (byte == ';') return go_to(State::kExtension);
  if (byte == '=') return has_name_ && go_to(State::kValue);
  if (byte == '\r') return state_ != State::kSpace && go_to(State::kSizeEnd);
  return detail::is_blank(byte) && go_to(State::kSpace);
}

size_t HttpChunkedDecoder::take_data_end(std::string_view bytes) {
  const char wanted = state_ == State::kDataReturn ? '\r' : '\n';
  if (bytes[0] != wanted) {
    fail_with(bytes[0] == '\n' ? HttpParseError::kBadLineEnd : HttpParseError::kBadChunk);
  } else if (wanted == '\r') {
    state_ = State::kDataEnd;
  } else {
    state_ = State::kSize;
    has_digit_ = false;
  }
  return 1;
}

size_t HttpChunkedDecoder::take_trailers(std::string_view bytes) {
  const size_t allowed = std::min(bytes.size(), limits_.trailer_bytes - trailers_.size());
  size_t used = 0;
  while (used < allowed && state_ == State::kTrailers && error_ == HttpParseError::kNone) {
    const std::string_view rest = bytes.substr(used, allowed - used);
    const size_t feed = rest.find('\n');
    const std::string_view line = rest.substr(0, feed == std::string_view::npos ? feed : feed + 1);
    trailers_.append(line);
    used += line.size();
    if (feed != std::string_view::npos) take_trailer_line();
  }
  if (state_ == State::kTrailers && error_ == HttpParseError::kNone && used < bytes.size()) {
    fail_with(HttpParseError::kHeadTooLarge);
  }
  return used;
}

void HttpChunkedDecoder::take_trailer_line() {
  const std::string_view line = std::string_view(trailers_).substr(line_begin_);
  if (line == "\r\n") {
    state_ = State::kDone;
    return;
  }
  HttpField field;
  const HttpParseError error = split_field_line(line, field);
  if (error != HttpParseError::kNone) {
    fail_with(error);
  } else {
    line_begin_ = trailers_.size();
  }
}

bool HttpChunkedDecoder::fail_with(HttpParseError error) {
  error_ = error;
  free_storage(trailers_);
  line_begin_ = 0;
  return false;
}

}  // namespace peal
