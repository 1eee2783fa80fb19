// SPDX-License-Identifier: BSD-3-Clause
// A line of the head can be parsed in two ways. The take_plain functions are quick. They parse plain lines that are
// complete in the given bytes, and stop before any other line. take_lines_thoroughly() parses the other lines and
// determines the error. The quick way accepts no line that the thorough way would refuse.
#include <peal/wire/http/http_response_parser.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <peal/base/memory/memory_charge.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/parts/byte_masks.h>
#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

// Returns the integer whose memory holds the first sizeof(Word) bytes of `bytes`, to compare several bytes at once.
template <class Word>
constexpr Word word_of(const char* bytes) {
  Word word = 0;
  for (size_t at = 0; at < sizeof(word); ++at) {
    const size_t place = std::endian::native == std::endian::little ? at : sizeof(word) - 1 - at;
    word |= static_cast<Word>(Word{static_cast<unsigned char>(bytes[at])} << (8 * place));
  }
  return word;
}

bool is_line_end(const char* at, const char* end) {
  return at < end - 1 && detail::load_word<uint16_t>(at) == word_of<uint16_t>("\r\n");
}

// Bit n is set if take_plain_fields() has to examine a field whose name has n letters. HttpBodyFraming uses Connection
// (10) and Content-Length (14). Bit 0 is set because a line without a name is an error. Transfer-Encoding (17) needs no
// bit: take_plain_fields() parses no name of more than 16 letters.
constexpr uint32_t kFramingNameLengths = 1U << 0 | 1U << 10 | 1U << 14;

// The longest head that is copied to last_head_. Longer heads are rare, and each of many connections may hold such a
// copy.
constexpr size_t kRememberedBytes = 512;

// Returns [from, end) without the white space around it. The usual case, one space at the front, is the fastest.
std::string_view trim_plain(const char* from, const char* end) {
  from += from < end && *from == ' ' ? 1 : 0;
  const std::string_view value(from, static_cast<size_t>(end - from));
  if (value.empty() || detail::is_blank(value.front()) || detail::is_blank(value.back())) return detail::trim(value);
  return value;
}

}  // namespace

HttpResponseParser::HttpResponseParser(const HttpResponseLimits& limits)
    : head_limit_bytes_(limits.head_bytes),
      chunks_({.line_bytes = limits.chunk_line_bytes, .trailer_bytes = limits.head_bytes}) {}

void HttpResponseParser::begin(bool answers_head) {
  state_ = State::kStatusLine;
  error_ = HttpParseError::kNone;
  answers_head_ = answers_head;
  keep_alive_ = false;
  head_bytes_ = 0;
  body_bytes_ = 0;
  if (!held_.empty()) free_storage(held_);
}

size_t HttpResponseParser::parse(std::string_view bytes) {
  return parse(bytes, [](std::string_view) {});
}

bool HttpResponseParser::end() {
  if (state_ == State::kUntilClose) state_ = State::kDone;
  return done() || fail_with(HttpParseError::kCutShort);
}

size_t HttpResponseParser::step(std::string_view bytes, std::string_view& piece) {
  size_t used = 0;
  if (in_head()) {
    used = repeats_last_head(bytes) ? reuse_last_head() : take_head(bytes);
    if (used == bytes.size() || !wants_more()) return used;
    bytes.remove_prefix(used);
  }
  if (state_ != State::kFixed) return used + take_body_of_unknown_length(bytes, piece);
  piece = bytes.substr(0, std::min<uint64_t>(remaining_, bytes.size()));
  remaining_ -= piece.size();
  body_bytes_ += piece.size();
  if (remaining_ == 0) state_ = State::kDone;
  return used + piece.size();
}

// Consumes bytes of a body that is chunked or that extends to the close of the connection.
size_t HttpResponseParser::take_body_of_unknown_length(std::string_view bytes, std::string_view& piece) {
  size_t used = bytes.size();
  if (state_ == State::kUntilClose) {
    piece = bytes;
  } else {
    used = chunks_.step(bytes, piece);
    if (chunks_.done()) state_ = State::kDone;
    if (chunks_.error() != HttpParseError::kNone) fail_with(chunks_.error());
  }
  body_bytes_ += piece.size();
  return used;
}

// Returns true if `bytes` begin with a head that repeats the last response's head byte for byte. False in the middle of
// a head.
inline bool HttpResponseParser::repeats_last_head(std::string_view bytes) const {
  return head_bytes_ == 0 && !last_head_.empty() && bytes.starts_with(last_head_);
}

// Consumes a head that is equal to last_head_. status_, minor_version_ and framing_ still have the values of that head.
inline size_t HttpResponseParser::reuse_last_head() {
  head_bytes_ = last_head_.size();
  end_head();
  return head_bytes_;
}

// Consumes bytes of the head. Bytes beyond the limit are never examined, so that the result does not depend on how the
// input is split.
size_t HttpResponseParser::take_head(std::string_view bytes) {
  if (head_bytes_ == 0) {
    framing_.clear();
    last_head_.clear();
  }
  const size_t allowed = std::min(bytes.size(), head_limit_bytes_ - head_bytes_);
  const char* const from = bytes.data();
  const char* const end = from + allowed;
  const char* at = held_.empty() ? take_plain_head(from, end) : from;
  if (in_head()) at = take_lines_thoroughly(at, end);
  if (in_head()) {
    held_.append(at, end);
    at = end;
    if (allowed < bytes.size()) fail_with(HttpParseError::kHeadTooLarge);
  }
  const auto used = static_cast<size_t>(at - from);
  if (head_bytes_ == 0 && used <= kRememberedBytes && head_complete()) last_head_.assign(from, used);
  head_bytes_ += used;
  return used;
}

// Parses lines of the usual form from `at` on, which must be the beginning of a line. Returns the beginning of the
// first line that take_lines_thoroughly() has to parse, or the end of the head.
inline const char* HttpResponseParser::take_plain_head(const char* at, const char* end) {
  if (state_ == State::kStatusLine) at = take_plain_status_line(at, end);
  if (state_ == State::kFields) at = take_plain_fields(at, end);
  if (state_ != State::kFields || !is_line_end(at, end)) return at;
  end_head();
  return at + 2;
}

// Parses complete lines of any form. The beginning of the first line may be in held_. Returns the beginning of the
// incomplete line at the end of the input, or the end of the head.
const char* HttpResponseParser::take_lines_thoroughly(const char* at, const char* end) {
  while (in_head()) {
    const auto* feed = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    if (feed == nullptr) break;
    const char* line = std::exchange(at, feed + 1);
    if (held_.empty()) {
      take_line({line, at});
    } else {
      held_.append(line, at);
      take_line(std::exchange(held_, {}));
    }
    if (state_ == State::kFields) at = take_plain_fields(at, end);
  }
  return at;
}

// Parses a status line of HTTP/1.1 such as "HTTP/1.1 200 OK" and returns the beginning of the next line. Returns `at`
// if the line has another form, or if fewer than kMaskBytes bytes are available.
inline const char* HttpResponseParser::take_plain_status_line(const char* at, const char* end) {
  constexpr size_t kCodeEnd = 12;
  if (end - at < static_cast<ptrdiff_t>(detail::kMaskBytes)) return at;
  if (detail::load_word<uint64_t>(at) != word_of<uint64_t>("HTTP/1.1") || at[8] != ' ' || at[kCodeEnd] != ' ')
    return at;
  const auto hundreds = static_cast<unsigned>(at[9] - '1');
  const auto tens = static_cast<unsigned>(at[10] - '0');
  const auto ones = static_cast<unsigned>(at[11] - '0');
  if (hundreds > 8 || tens > 9 || ones > 9) return at;
  const char* line_end = detail::find_control(at + kCodeEnd, end);
  if (!is_line_end(line_end, end)) return at;
  minor_version_ = 1;
  status_ = static_cast<int>(hundreds * 100 + 100 + tens * 10 + ones);
  state_ = State::kFields;
  return line_end + 2;
}

// Parses header lines whose name has at most 16 letters and dashes and whose value contains no tab. Returns the
// beginning of the first other line.
inline const char* HttpResponseParser::take_plain_fields(const char* at, const char* end) {
  const char* last = end - std::min<size_t>(detail::kMaskBytes, static_cast<size_t>(end - at));
  while (at < last) {
    const size_t name_length = detail::first_bit(detail::not_name_mask(at) | 1U << detail::kMaskBytes);
    if (at[name_length] != ':') break;
    const char* value = at + name_length + 1;
    const char* line_end = detail::find_control(value, end);
    if (!is_line_end(line_end, end)) break;
    if ((kFramingNameLengths >> name_length & 1) != 0) {
      if (name_length == 0) break;
      const HttpParseError error = framing_.take({at, name_length}, trim_plain(value, line_end));
      if (error != HttpParseError::kNone) break;
    }
    at = line_end + 2;
  }
  return at;
}

bool HttpResponseParser::take_line(std::string_view line) {
  if (state_ == State::kStatusLine) return take_status_line(line);
  if (line != "\r\n") return take_field_line(line);
  end_head();
  return true;
}

// Parses a line of the form: HTTP-version SP 3DIGIT [SP reason] CR LF (RFC 9112 4).
bool HttpResponseParser::take_status_line(std::string_view line) {
  if (!detail::ends_in_crlf(line)) {
    return fail_with(line.starts_with("HTTP/1.") ? HttpParseError::kBadLineEnd : HttpParseError::kBadStatusLine);
  }
  line.remove_suffix(2);
  const bool fits = line.size() >= 12 && line.starts_with("HTTP/1.") && detail::is_digit(line[7]) && line[8] == ' ' &&
                    line[9] >= '1' && line[9] <= '9' && detail::is_digit(line[10]) && detail::is_digit(line[11]) &&
                    (line.size() == 12 || line[12] == ' ');
  if (!fits || std::ranges::any_of(line, detail::is_control)) return fail_with(HttpParseError::kBadStatusLine);
  minor_version_ = static_cast<uint8_t>(line[7] - '0');
  status_ = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  state_ = State::kFields;
  return true;
}

bool HttpResponseParser::take_field_line(std::string_view line) {
  HttpField field;
  HttpParseError error = split_field_line(line, field);
  if (error == HttpParseError::kNone) error = framing_.take(field.name, field.value);
  return error == HttpParseError::kNone || fail_with(error);
}

// Evaluates a complete head and decides how the body is delimited (RFC 9112 6.3). After an interim response other than
// 101, the parser expects another status line.
inline void HttpResponseParser::end_head() {
  // HTTP/1.0 has no Transfer-Encoding, so the framing of such a response is faulty (RFC 9112 6.1).
  if (framing_.has_transfer_encoding() && minor_version_ == 0) {
    fail_with(HttpParseError::kBadTransferEncoding);
    return;
  }
  const bool interim = status_ < 200;
  if (interim && status_ != 101) {
    framing_.clear();
    state_ = State::kStatusLine;
    return;
  }
  keep_alive_ = !interim && framing_.persists(minor_version_);
  remaining_ = framing_.content_length().value_or(0);
  if (interim || answers_head_ || status_ == 204 || status_ == 304) {
    state_ = State::kDone;
  } else if (framing_.chunked()) {
    chunks_.begin();
    state_ = State::kChunked;
  } else if (framing_.content_length().has_value()) {
    state_ = remaining_ > 0 ? State::kFixed : State::kDone;
  } else {
    keep_alive_ = false;
    state_ = State::kUntilClose;
  }
}

bool HttpResponseParser::fail_with(HttpParseError error) {
  state_ = State::kBroken;
  last_head_.clear();
  error_ = error;
  keep_alive_ = false;
  free_storage(held_);
  return false;
}

}  // namespace peal
