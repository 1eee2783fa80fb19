// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http_chunked_decoder.h>

#include <algorithm>
#include <utility>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

// The value of a hexadecimal digit, or -1.
int hex_value(char byte) {
  if (detail::is_digit(byte)) return byte - '0';
  const int letter = (byte | 0x20) - 'a';
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

}  // namespace

void HttpChunkedDecoder::begin() {
  state_ = State::kSize;
  error_ = HttpParseError::kNone;
  has_digit_ = false;
  remaining_ = 0;
  framing_bytes_ = 0;
  held_.clear();
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
    if (++framing_bytes_ > limits_.line_bytes) return fail_with(HttpParseError::kChunkLineTooLong), used;
    if (!take_size_byte(bytes[used++])) break;
  }
  return used;
}

// 1*HEXDIG [BWS ";" anything] CR LF. White space leads to an extension or it is an error.
bool HttpChunkedDecoder::take_size_byte(char byte) {
  if (byte == '\n' && state_ != State::kSizeEnd) return fail_with(HttpParseError::kBadLineEnd);
  switch (state_) {
    case State::kSize:
      if (const int digit = hex_value(byte); digit >= 0) {
        if (remaining_ >> 60 != 0) return fail_with(HttpParseError::kBadChunk);
        remaining_ = remaining_ << 4 | static_cast<uint64_t>(digit);
        return has_digit_ = true;
      }
      if (!has_digit_) return fail_with(HttpParseError::kBadChunk);
      if (byte == '\r') return state_ = State::kSizeEnd, true;
      [[fallthrough]];
    case State::kSpace:
      if (byte == ';') return state_ = State::kExtension, true;
      if (byte == ' ' || byte == '\t') return state_ = State::kSpace, true;
      return fail_with(HttpParseError::kBadChunk);
    case State::kExtension:
      if (byte == '\r') state_ = State::kSizeEnd;
      return byte == '\r' || !detail::is_control(byte) || fail_with(HttpParseError::kBadChunk);
    default:
      if (byte != '\n') return fail_with(HttpParseError::kBadChunk);
      state_ = remaining_ > 0 ? State::kData : State::kTrailers;
      framing_bytes_ = 0;
      return true;
  }
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
  const size_t allowed = std::min(bytes.size(), limits_.trailer_bytes - framing_bytes_);
  size_t used = 0;
  while (used < allowed && state_ == State::kTrailers && error_ == HttpParseError::kNone) {
    const std::string_view rest = bytes.substr(used, allowed - used);
    const size_t feed = rest.find('\n');
    const std::string_view line = rest.substr(0, feed == std::string_view::npos ? feed : feed + 1);
    used += line.size();
    if (feed == std::string_view::npos) {
      held_.append(line);
    } else if (held_.empty()) {
      take_trailer_line(line);
    } else {
      held_.append(line);
      take_trailer_line(std::exchange(held_, {}));
    }
  }
  framing_bytes_ += used;
  if (state_ == State::kTrailers && error_ == HttpParseError::kNone && used < bytes.size()) {
    fail_with(HttpParseError::kHeadTooLarge);
  }
  return used;
}

bool HttpChunkedDecoder::take_trailer_line(std::string_view line) {
  if (line == "\r\n") return state_ = State::kDone, true;
  detail::HttpField field;
  const HttpParseError error = detail::split_field_line(line, field);
  return error == HttpParseError::kNone || fail_with(error);
}

bool HttpChunkedDecoder::fail_with(HttpParseError error) {
  error_ = error;
  held_ = {};
  return false;
}

}  // namespace peal
