// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/forms/multipart_reader.h>

#include <algorithm>

#include <fmt/format.h>

#include <peal/base/ascii.h>
#include <peal/base/bad_value.h>
#include <peal/base/printable.h>
#include <peal/wire/content/content_type.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/parts/byte_scan.h>
#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

constexpr size_t kBoundaryBytesMax = 70;
constexpr detail::ByteClass kBoundaryBytes = detail::ByteClass().with(detail::kLettersAndDigits).with("'()+_,-./:=? ");

// True if the text is a valid boundary (RFC 2046 5.1.1).
bool is_boundary(std::string_view text) {
  return !text.empty() && text.size() <= kBoundaryBytesMax && text.back() != ' ' &&
         detail::all_in(kBoundaryBytes, text);
}

// Decodes the escapes in a quoted name. Browsers, curl, Node and Python's requests write a quote, CR and LF as %22, %0D
// and %0A, and escape nothing else (the HTML standard, "Multipart form data"). Other clients put a backslash before a
// quote and before a backslash.
std::string unescape(std::string_view text, Backslash backslash) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    size_t bytes = 3;
    if (text.starts_with("%22")) {
      plain.push_back('"');
    } else if (detail::equals_lower(text.substr(0, 3), "%0d")) {
      plain.push_back('\r');
    } else if (detail::equals_lower(text.substr(0, 3), "%0a")) {
      plain.push_back('\n');
    } else {
      const bool escaped = text.starts_with("\\\"") || text.starts_with("\\\\");
      bytes = escaped && backslash == Backslash::kHidesQuote ? 2 : 1;
      plain.push_back(text[bytes - 1]);
    }
    text.remove_prefix(bytes);
  }
  return plain;
}

// True for a byte that may follow the text of a boundary. If another byte follows, the text only looks like a boundary
// and is data. Writers must choose a boundary that does not occur in the data (RFC 2046 5.1.1).
bool ends_boundary(char byte) { return byte == '\r' || byte == '-' || detail::is_blank(byte); }

// True if all parameters are well formed when backslashes are read as `backslash` says.
bool are_parameters(std::string_view rest, Backslash backslash) {
  FieldParameter parameter;
  while (next_field_parameter(rest, parameter, backslash)) {
  }
  return rest.empty();
}

}  // namespace

std::string_view to_string(MultipartFault fault) {
  switch (fault) {
    case MultipartFault::kNone: return "no fault";
    case MultipartFault::kBadBoundary: return "other bytes follow a boundary on its line";
    case MultipartFault::kBadHead: return "the head of a part is malformed";
    case MultipartFault::kNoName: return "a part has no name";
    case MultipartFault::kEncoded: return "a part has a transfer encoding, which forms do not use";
    case MultipartFault::kTooManyParts: return "too many parts";
    case MultipartFault::kHeadTooLarge: return "the head of a part is too large";
    case MultipartFault::kCutShort: return "the form ends before its last boundary";
  }
  return "unknown fault";
}

int http_status(MultipartFault fault) {
  return fault == MultipartFault::kTooManyParts || fault == MultipartFault::kHeadTooLarge ? 413 : 400;
}

MultipartReader::MultipartReader(std::string_view boundary, const MultipartLimits& limits)
    : limits_(limits), delimiter_(fmt::format("\r\n--{}", boundary)) {
  if (!is_boundary(boundary))
    throw_bad_value("the multipart boundary of {} bytes is not valid (RFC 2046 5.1.1)", boundary.size());
}

size_t MultipartReader::step(std::string_view bytes) {
  size_t taken = 0;
  event_ = MultipartEvent::kNone;
  while (event_ == MultipartEvent::kNone && taken < bytes.size() && fault_ == MultipartFault::kNone && !ended()) {
    const std::string_view rest = bytes.substr(taken);
    switch (state_) {
      case State::kPreamble:
      case State::kData: taken += take_data(rest); break;
      case State::kBoundary: taken += take_boundary_end(rest); break;
      case State::kHead: taken += take_head(rest); break;
      case State::kEpilogue: break;
    }
  }
  return event_ == MultipartEvent::kNone ? bytes.size() : taken;
}

void MultipartReader::report_data(std::string_view data) {
  if (state_ != State::kData || data.empty()) return;
  data_ = data;
  event_ = MultipartEvent::kData;
}

size_t MultipartReader::find_delimiter(std::string_view bytes) const {
  const auto may_begin = [&](size_t at) {
    if (at + 1 < bytes.size() && bytes[at + 1] != '\n') return false;  // the quick test, which most CRs fail
    const std::string_view there = bytes.substr(at, delimiter_.size() + 1);
    if (!std::string_view(delimiter_).starts_with(there.substr(0, delimiter_.size()))) return false;
    return there.size() <= delimiter_.size() || ends_boundary(there.back());
  };
  size_t at = bytes.find('\r');
  while (at < bytes.size() && !may_begin(at)) at = bytes.find('\r', at + 1);
  return std::min(at, bytes.size());
}

// Reads data up to the next delimiter, or bytes of that delimiter. CR stands only at the front of the delimiter. So a
// text that matched a part of the delimiter cannot contain the beginning of another delimiter. If the next byte does
// not match, all bytes that matched are data.
size_t MultipartReader::take_data(std::string_view bytes) {
  if (matched_ == 0) {
    const size_t begin = find_delimiter(bytes);
    if (begin > 0) {
      report_data(bytes.substr(0, begin));
      return begin;
    }
  }
  size_t taken = 0;
  while (taken < bytes.size() && matched_ < delimiter_.size() && bytes[taken] == delimiter_[matched_]) {
    ++taken;
    ++matched_;
  }
  if (taken == bytes.size()) return taken;
  if (matched_ == delimiter_.size() && ends_boundary(bytes[taken])) {
    if (state_ == State::kData) event_ = MultipartEvent::kEnd;
    state_ = State::kBoundary;
    last_after_boundary_ = 0;
  } else {
    report_data(std::string_view(delimiter_).substr(assumed_, matched_ - assumed_));
  }
  matched_ = 0;
  assumed_ = 0;
  return taken;
}

// Reads one byte after the text of a boundary. Blanks and CR LF may follow a boundary, and "--" follows the last
// boundary.
size_t MultipartReader::take_boundary_end(std::string_view bytes) {
  const char byte = bytes.front();
  if (last_after_boundary_ == '-' && byte == '-') {
    state_ = State::kEpilogue;
  } else if (last_after_boundary_ == '\r' && byte == '\n') {
    ++parts_;
    if (parts_ > limits_.parts) {
      fault_ = MultipartFault::kTooManyParts;
      return 1;
    }
    state_ = State::kHead;
    head_.clear();
  } else if (last_after_boundary_ == '-' || last_after_boundary_ == '\r' ||
             (byte == '-' && last_after_boundary_ != 0) || (byte != '-' && byte != '\r' && !detail::is_blank(byte))) {
    fault_ = MultipartFault::kBadBoundary;
  }
  last_after_boundary_ = byte;
  return 1;
}

size_t MultipartReader::take_head(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  const size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
  if (taken > limits_.head_bytes - head_.size()) {
    fault_ = MultipartFault::kHeadTooLarge;
    return taken;
  }
  head_.append(bytes.substr(0, taken));
  if (head_ == "\r\n" || head_.ends_with("\r\n\r\n")) fault_ = read_head();
  return taken;
}

MultipartFault MultipartReader::read_head() {
  part_ = {};
  bool disposed = false;
  std::string_view lines = head_;
  lines.remove_suffix(2);
  while (!lines.empty()) {
    HttpField field;
    const size_t bytes = lines.find('\n') + 1;
    if (split_field_line(lines.substr(0, bytes), field) != HttpParseError::kNone) return MultipartFault::kBadHead;
    lines.remove_prefix(bytes);
    if (same_field_name(field.name, "Content-Disposition")) {
      const MultipartFault fault = disposed ? MultipartFault::kBadHead : read_disposition(field.value);
      if (fault != MultipartFault::kNone) return fault;
      disposed = true;
    } else if (same_field_name(field.name, "Content-Type")) {
      if (!part_.content_type.empty()) return MultipartFault::kBadHead;
      part_.content_type = field.value;
    } else if (same_field_name(field.name, "Content-Transfer-Encoding")) {
      const std::string encoding = to_lower(field.value);
      if (encoding != "binary" && encoding != "8bit" && encoding != "7bit") return MultipartFault::kEncoded;
    }
  }
  if (!disposed) return MultipartFault::kNoName;
  state_ = State::kData;
  matched_ = 2;
  assumed_ = 2;
  event_ = MultipartEvent::kPart;
  return MultipartFault::kNone;
}

// A backslash before a quote is ambiguous. Some clients escape each quote in a name in this way. Others escape nothing,
// and their name may end with a backslash. The rest of the field tells the two apart: if the client escapes quotes, the
// field is malformed when backslashes are read as text.
//
// A field with two names or two file names is refused, because another reader of the form might use the other name.
// `filename*` must not be sent (RFC 7578 4.2) and is ignored.
MultipartFault MultipartReader::read_disposition(std::string_view value) {
  std::string_view rest;
  if (!same_field_name(split_parameters(value, rest), "form-data")) return MultipartFault::kBadHead;
  const Backslash backslash = are_parameters(rest, Backslash::kIsText) ? Backslash::kIsText : Backslash::kHidesQuote;
  bool named = false;
  for (FieldParameter parameter; next_field_parameter(rest, parameter, backslash);) {
    const auto text = [&] {
      return parameter.quoted ? unescape(parameter.value, backslash) : std::string(parameter.value);
    };
    if (same_field_name(parameter.name, "name")) {
      if (named) return MultipartFault::kBadHead;
      named = true;
      part_.name = text();
    } else if (same_field_name(parameter.name, "filename")) {
      if (part_.file_name) return MultipartFault::kBadHead;
      part_.file_name = text();
    }
  }
  if (!rest.empty()) return MultipartFault::kBadHead;
  return named ? MultipartFault::kNone : MultipartFault::kNoName;
}

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  if (!is_content_type(content_type, "multipart/form-data")) return std::nullopt;
  std::optional<std::string> boundary = find_parameter(content_type, "boundary");
  if (boundary && !is_boundary(*boundary)) boundary.reset();
  return boundary;
}

std::string safe_file_name(std::string_view name) {
  constexpr size_t kMostBytes = 200;
  name.remove_prefix(name.find_last_of("/\\") + 1);  // npos + 1 is 0
  std::string safe;
  while (!name.empty()) {
    const TextCharacter next = first_character(name);
    const std::string_view character = next.code == kNoCharacter ? "_" : name.substr(0, next.bytes);
    name.remove_prefix(next.bytes);
    if (is_control_character(next.code) || is_invisible_character(next.code)) continue;
    if (safe.empty() && std::string_view(".- ").contains(character.front())) continue;
    if (safe.size() + character.size() > kMostBytes) break;
    safe.append(character);
  }
  return safe.empty() ? "file" : safe;
}

}  // namespace peal
