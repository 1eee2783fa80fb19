// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/parts/http_head_reader.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <peal/wire/http/parts/http_target.h>
#include <peal/wire/parts/byte_scan.h>
#include <peal/wire/parts/http_text.h>
#include <peal/wire/scan_kind.h>

namespace peal::detail {
namespace {

// The longest method that is accepted. The longest one in IANA's registry, UPDATEREDIRECTREF, has 17 bytes.
constexpr ptrdiff_t kMostMethodBytes = 32;

constexpr size_t kVersionBytes = 9;  // the size of " HTTP/1.1"

// The number of header fields for which memory is allocated at first. If a head has more fields, the number is doubled,
// up to HttpLimits::fields.
constexpr size_t kFirstFields = 16;

// The most bytes of header fields that are copied to HttpRequestHead::last_fields_. Longer fields are rare, and there
// may be many HttpRequestHead objects at a time.
constexpr size_t kRememberedBytes = 512;

// The reader itself evaluates the fields Host, Expect, Upgrade, Connection, Content-Length and Transfer-Encoding. Their
// lengths all differ. kKnownLetters has the first letter of each at the index of its length. The letter is a quick test
// before the whole name is compared.
constexpr size_t kKnownLengths = 18;
constexpr char kKnownLetters[kKnownLengths + 1] = "\0\0\0\0h\0eu\0\0c\0\0\0c\0\0t";

template <class Word, size_t N>
bool begins_with(const char* at, const char (&text)[N]) {
  static_assert(sizeof(Word) == N - 1);
  return load_word<Word>(at) == load_word<Word>(text);
}

bool is_end_of_line(const char* at, const char* end) { return end - at >= 2 && begins_with<uint16_t>(at, "\r\n"); }

bool is_host(const char* name) { return (load_word<uint32_t>(name) | 0x20202020U) == load_word<uint32_t>("host"); }

// Returns true for ':' and at most four digits. A port of four digits is always valid. A longer port must be compared
// with 65535.
bool is_plain_port(std::string_view text) {
  return text.size() <= 5 && text.front() == ':' && std::ranges::all_of(text.substr(1), is_digit);
}

bool has_empty_element(std::string_view list) {
  for (;;) {
    const size_t comma = std::min(list.find(','), list.size());
    if (trim(list.substr(0, comma)).empty()) return true;
    if (comma == list.size()) return false;
    list.remove_prefix(comma + 1);
  }
}

// Returns true for SP and HTAB, and also for the CR after an empty value, which the caller treats alike. A value
// contains no other control character, so one comparison is enough.
bool is_blank_in_value(char byte) { return static_cast<unsigned char>(byte) <= ' '; }

}  // namespace

void HttpHeadReader::read(const char* line, const char* scanned, bool in_fields) {
  line_ = line;
  in_fields_ = in_fields;
  if (scanned > line && !judge_line(scanned, HttpParseError::kNone)) return;
  if (error_ != HttpParseError::kNone) return;
#ifdef __x86_64__
  const ScanKind kind = scan_kind();
  const auto bytes = static_cast<size_t>(end_ - base_);
  if (kind == ScanKind::kAvx2 && bytes >= Avx2Scan::kBytes) return read_avx2();
  if (kind != ScanKind::kPortable && bytes >= Ssse3Scan::kBytes) return read_ssse3();
#endif
  read_portable();
}

template <class Scan>
[[gnu::always_inline]] inline void HttpHeadReader::read_lines() {
  if (!in_fields_) {
    if (!take_request_line<Scan>()) return;
    if (repeats_last_fields()) {
      line_ += head_.last_fields_.size();
      done_ = true;
      return;
    }
    head_.last_fields_.clear();
    facts_ = {};
  }
  take_fields<Scan>();
}

void HttpHeadReader::read_portable() { read_lines<PortableScan>(); }
#ifdef __x86_64__
[[gnu::target("ssse3")]] void HttpHeadReader::read_ssse3() { read_lines<Ssse3Scan>(); }
[[gnu::target("avx2,bmi,bmi2")]] void HttpHeadReader::read_avx2() { read_lines<Avx2Scan>(); }
#endif

// Parses a line of the form: method SP target SP "HTTP/1." DIGIT CR LF (RFC 9112 3). Returns false if the line is
// incomplete or faulty.
template <class Scan>
[[gnu::always_inline]] inline bool HttpHeadReader::take_request_line() {
  const char* method_end = line_ + 3;
  if (end_ - line_ >= 4 && begins_with<uint32_t>(line_, "GET ")) {
    request_.method = HttpMethod::kGet;
  } else {
    method_end = find_byte<Scan, false>(kTokenBytes, line_, end_);
    if (!take_method(method_end)) return false;
  }
  request_.method_bytes = static_cast<uint16_t>(method_end - line_);
  const char* target = method_end + 1;
  const char* path_end = find_byte<Scan, false>(kPathBytes, target, end_);
  const char* target_end = path_end;
  if (path_end < end_ && *path_end == '?') target_end = find_byte<Scan, false>(kTargetBytes, path_end, end_);
  if (target_end == end_ || *target_end == '\r') return refuse_or_wait(HttpParseError::kBadRequestLine);
  if (target_end == target || *target_end != ' ') return refuse_or_wait(HttpParseError::kBadTarget);
  request_.target = part(base_, target, target_end);
  if (*target == '/' && request_.method != HttpMethod::kConnect) {
    request_.path = part(base_, target, path_end);
    if (path_end < target_end) request_.query = part(base_, path_end + 1, target_end);
  } else if (!take_other_target({target, target_end})) {
    return refuse_or_wait(HttpParseError::kBadTarget);
  }
  return take_version(target_end);
}

inline bool HttpHeadReader::take_method(const char* end) {
  if (end - line_ > kMostMethodBytes) return refuse_or_wait(HttpParseError::kMethodTooLong);
  if (end == end_ || end == line_ || *end != ' ') return refuse_or_wait(HttpParseError::kBadRequestLine);
  request_.method = http_method({line_, end});
  return true;
}

bool HttpHeadReader::take_other_target(std::string_view target) {
  HttpTargetParts parts;
  if (!split_http_target(request_.method, target, parts)) return false;
  const auto part_of = [&](std::string_view text) {
    return text.empty() ? HttpRequestHead::Part() : part(base_, text.data(), text.data() + text.size());
  };
  request_.path = part_of(parts.path);
  request_.query = part_of(parts.query);
  request_.authority = part_of(parts.authority);
  request_.names_authority = !parts.authority.empty();
  if (request_.method == HttpMethod::kConnect || !parts.path.empty()) return true;
  // OPTIONS with an absolute URL that has neither path nor query is about the server itself, like "*" (RFC 9112 3.2.4).
  request_.implied_path = request_.method == HttpMethod::kOptions && parts.query.empty() ? "*" : "/";
  return true;
}

[[gnu::always_inline]] inline bool HttpHeadReader::take_version(const char* at) {
  const char* line_end = at + kVersionBytes;
  if (end_ - at < static_cast<ptrdiff_t>(kVersionBytes) + 2 || !begins_with<uint64_t>(at, " HTTP/1.") ||
      !is_digit(at[8]) || !is_end_of_line(line_end, end_)) {
    return refuse_or_wait(version_fault(at));
  }
  if (line_end - line_ > static_cast<ptrdiff_t>(limits_.request_line_bytes)) {
    return refuse_or_wait(HttpParseError::kRequestLineTooLong);
  }
  // A request of HTTP/1.2 or higher is treated as HTTP/1.1 (RFC 9110 2.5).
  request_.minor_version = at[8] == '0' ? 0 : 1;
  in_fields_ = true;
  line_ = line_end + 2;
  request_.fields_begin = static_cast<uint16_t>(line_ - base_);
  return true;
}

// Returns true if the header fields repeat those of the last request byte for byte, so that facts_ and the field parts
// can be reused. HTTP/1.0 has other rules and is excluded. The limits are compared too, because they may be other
// limits than those of the last request.
[[gnu::always_inline]] inline bool HttpHeadReader::repeats_last_fields() {
  const std::string& last = head_.last_fields_;
  return !last.empty() && static_cast<size_t>(end_ - line_) >= last.size() &&
         std::memcmp(line_, last.data(), last.size()) == 0 && request_.minor_version == 1 &&
         facts_.field_count <= limits_.fields && limits_.field_line_bytes >= kRememberedBytes;
}

// Returns the fault of a complete request line that does not end in " HTTP/1." and a digit. Returns kBadVersion if the
// line ends in another version, and otherwise kBadRequestLine.
HttpParseError HttpHeadReader::version_fault(const char* at) const {
  const std::string_view rest(at, std::find(at, end_, '\r'));
  const bool is_version = rest.size() == kVersionBytes && rest.starts_with(" HTTP/") && is_digit(rest[6]) &&
                          rest[7] == '.' && is_digit(rest[8]);
  return is_version ? HttpParseError::kBadVersion : HttpParseError::kBadRequestLine;
}

// Evaluates a Host field. A second Host field or an invalid value makes the request faulty, even if the target contains
// an authority (RFC 9112 3.2).
template <class Scan>
[[gnu::always_inline]] inline HttpParseError HttpHeadReader::take_host(std::string_view value) {
  const char* value_end = value.data() + value.size();
  const char* host_end = find_byte<Scan, false>(kHostBytes, value_end - value.size(), end_);
  const bool is_plain = host_end == value_end || is_plain_port({host_end, value_end});
  if (facts_.has_host || (!is_plain && !is_http_authority(value))) return HttpParseError::kBadHost;
  facts_.has_host = true;
  facts_.host = field_part(value);
  return HttpParseError::kNone;
}

// Parses lines of the form: name ":" OWS value OWS CR LF (RFC 9112 5), and the empty line. A name is a token and
// contains no white space. So these are refused: a space before the colon, a folded line, and white space before the
// first field.
template <class Scan>
[[gnu::always_inline]] inline void HttpHeadReader::take_fields() {
  const char* const end = end_;
  const char* at = line_;
  const char* const fields_base = base_ + request_.fields_begin;
  const ptrdiff_t line_limit = limits_.field_line_bytes;
  HttpRequestHead::FieldParts* field = head_.fields_.data() + facts_.field_count;
  HttpRequestHead::FieldParts* room_end = head_.fields_.data() + std::min<size_t>(head_.fields_.size(), limits_.fields);
  uint64_t name_lengths = facts_.name_lengths;
  HttpParseError fault = HttpParseError::kNone;
  for (;;) {
    // Most lines are not longer than the vector of a Scan. So the end of the name and the end of the line are both
    // searched in the same bytes. A name contains no control character, so the first control character ends the line.
    const uint32_t name_ends = byte_mask<Scan, false>(kTokenBytes, at, end);
    const uint32_t controls = byte_mask<Scan, true>(kControlBytes, at, end);
    const char* name_end =
        name_ends != 0 ? at + std::countr_zero(name_ends) : find_byte<Scan, false>(kTokenBytes, at + Scan::kBytes, end);
    if (name_end >= end || *name_end != ':' || name_end == at) break;
    const char* line_end =
        controls != 0 ? at + std::countr_zero(controls) : find_byte<Scan, true>(kControlBytes, at + Scan::kBytes, end);
    if (!is_end_of_line(line_end, end) || line_end - at > line_limit) break;
    const char* value = name_end + 1;
    const char* value_end = line_end;
    value += *value == ' ' ? 1 : 0;
    if (is_blank_in_value(*value) || is_blank_in_value(line_end[-1])) {
      const std::string_view trimmed = trim({name_end + 1, line_end});
      value = trimmed.data();
      value_end = value + trimmed.size();
    }
    if (field == room_end) {
      const ptrdiff_t count = field - head_.fields_.data();
      if (!grow_fields()) {
        fault = HttpParseError::kTooManyFields;
        break;
      }
      field = head_.fields_.data() + count;
      room_end = head_.fields_.data() + head_.fields_.size();
    }
    *field++ = {part(fields_base, at, name_end), part(fields_base, value, value_end)};
    const auto name_bytes = static_cast<size_t>(name_end - at);
    name_lengths |= uint64_t{1} << (name_bytes & 63);
    if (name_bytes < kKnownLengths && kKnownLetters[name_bytes] == (*at | 0x20)) {
      fault = name_bytes == 4 ? is_host(at) ? take_host<Scan>({value, value_end}) : HttpParseError::kNone
                              : take_message_field({at, name_end}, {value, value_end});
      if (fault != HttpParseError::kNone) break;
    }
    at = line_end + 2;
  }
  line_ = at;
  facts_.field_count = static_cast<uint16_t>(field - head_.fields_.data());
  facts_.name_lengths = name_lengths;
  end_fields(fault);
}

// Handles the line at line_, which take_fields() did not accept: the empty line that ends the head, a line with `fault`
// or another fault, or an incomplete line.
void HttpHeadReader::end_fields(HttpParseError fault) {
  if (fault != HttpParseError::kNone || !is_end_of_line(line_, end_)) {
    refuse_or_wait(fault != HttpParseError::kNone ? fault : HttpParseError::kBadHeader);
    return;
  }
  error_ = check_whole_head();
  line_ += 2;
  done_ = true;
  const char* fields_begin = base_ + request_.fields_begin;
  const auto bytes = static_cast<size_t>(line_ - fields_begin);
  if (error_ == HttpParseError::kNone && bytes <= kRememberedBytes && request_.minor_version == 1) {
    head_.last_fields_.assign(fields_begin, bytes);
  }
}

bool HttpHeadReader::grow_fields() {
  const size_t room = std::min<size_t>(std::max(kFirstFields, 2 * head_.fields_.size()), limits_.fields);
  if (room <= head_.fields_.size()) return false;
  head_.fields_.resize(room);
  return true;
}

// Evaluates a field whose name may be one of those in kKnownLetters, because its length and its first letter match.
// Ignores the field if its name is another one.
HttpParseError HttpHeadReader::take_message_field(std::string_view name, std::string_view value) {
  HttpBodyFraming& framing = facts_.framing;
  switch (name.size()) {
    case 6: return equals_lower(name, "expect") ? take_expect(value) : HttpParseError::kNone;
    case 7:
      if (equals_lower(name, "upgrade") && facts_.upgrade.bytes == 0) {
        facts_.upgrade = field_part(value);
      }
      return HttpParseError::kNone;
    case 14: return is_word(name, "content-length") ? framing.take_only_length(value) : HttpParseError::kNone;
    case 10:
      if (is_word(name, "connection")) framing.take_connection(value);
      return HttpParseError::kNone;
    default:
      // Some parsers ignore an empty element of the list and others do not, so they could frame the body differently.
      if (is_word(name, "transfer-encoding") && has_empty_element(value)) return HttpParseError::kBadTransferEncoding;
      return framing.take(name, value);
  }
}

// Evaluates an Expect field. In a request of HTTP/1.0 the field must be ignored (RFC 9110 10.1.1).
HttpParseError HttpHeadReader::take_expect(std::string_view value) {
  if (request_.minor_version == 0) return HttpParseError::kNone;
  facts_.expects_continue = equals_lower(value, "100-continue");
  return facts_.expects_continue ? HttpParseError::kNone : HttpParseError::kUnknownExpectation;
}

// Checks the rules that involve more than one line of the head (RFC 9112 3.2, 6.1 and 6.3).
HttpParseError HttpHeadReader::check_whole_head() const {
  if (!facts_.has_host && request_.minor_version >= 1) return HttpParseError::kMissingHost;
  const HttpBodyFraming& framing = facts_.framing;
  if (!framing.has_transfer_encoding()) return HttpParseError::kNone;
  if (framing.is_ambiguous()) return HttpParseError::kTwoFramings;
  if (request_.minor_version == 0 || !framing.chunked()) return HttpParseError::kBadTransferEncoding;
  return framing.has_other_coding() ? HttpParseError::kUnknownCoding : HttpParseError::kNone;
}

// Handles a line at line_ that was not accepted, and always returns false. If the line is complete or too long, sets
// error_ to `fault`, or to another fault that stands earlier in the line. If the line is incomplete, the reader waits
// for more bytes.
bool HttpHeadReader::refuse_or_wait(HttpParseError fault) {
  judge_line(line_, fault);
  return false;
}

// Returns true if a request line that exceeds a limit is reported as kMethodTooLong. This requires a method of more
// than kMostMethodBytes bytes and a limit of at least that number. A smaller limit is exceeded earlier in the line and
// is reported instead.
bool HttpHeadReader::is_method_too_long() const {
  const ptrdiff_t limit = std::min<ptrdiff_t>(limits_.request_line_bytes, limits_.head_bytes);
  return limit >= kMostMethodBytes && all_in(kTokenBytes, {line_, line_ + kMostMethodBytes + 1});
}

// Searches the line at line_ for its end, beginning at `from`. An earlier call has searched the bytes before `from`.
// Returns true and sets error_ if the line is complete, faulty or beyond a limit. The error of a complete line is
// `fault`, which may be kNone. Returns false and sets scanned_ if more bytes are needed.
bool HttpHeadReader::judge_line(const char* from, HttpParseError fault) {
  const char* stop = find_byte<PortableScan, true>(kControlBytes, from, end_);
  const ptrdiff_t line_limit = in_fields_ ? limits_.field_line_bytes : limits_.request_line_bytes;
  const ptrdiff_t head_limit = limits_.head_bytes;
  if (stop - line_ > line_limit || stop - base_ > head_limit) {
    const bool head = line_ - base_ + line_limit > head_limit;
    error_ = in_fields_             ? HttpParseError::kFieldLineTooLong
             : is_method_too_long() ? HttpParseError::kMethodTooLong
                                    : HttpParseError::kRequestLineTooLong;
    if (head && error_ != HttpParseError::kMethodTooLong) error_ = HttpParseError::kHeadTooLarge;
    return true;
  }
  if (stop == end_ || (*stop == '\r' && stop + 1 == end_)) {
    scanned_ = stop;
    return false;
  }
  if (*stop == '\n') {
    error_ = HttpParseError::kBadLineEnd;
  } else if (is_end_of_line(stop, end_)) {
    error_ = fault;
  } else {
    error_ = in_fields_ ? HttpParseError::kBadHeader : HttpParseError::kBadRequestLine;
  }
  return true;
}

}  // namespace peal::detail
