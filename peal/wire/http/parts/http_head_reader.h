// SPDX-License-Identifier: BSD-3-Clause
// HttpHeadReader parses the complete lines of a request's head and stores the results in an HttpRequestHead. It is the
// inner part of HttpRequestParser. A line is accepted or refused when its end, a forbidden byte or a limit is reached.
// If a line has two faults, the first one in the text is reported. So the result does not depend on how the input was
// split.
#pragma once

#include <cstdint>
#include <string_view>

#include <peal/wire/http/http_limits.h>
#include <peal/wire/http/http_parse_error.h>
#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

class HttpHeadReader {
 public:
  // Prepares to parse the bytes of the head that have arrived: those from `base` to `end`.
  HttpHeadReader(HttpRequestHead& head, const HttpLimits& limits, const char* base, const char* end)
      : head_(head), request_(head.request_line_), facts_(head.facts_), limits_(limits), base_(base), end_(end) {}

  // Parses all complete lines from `line` on, which is the beginning of the first line that is not parsed yet. An
  // earlier call has searched the bytes before `scanned` for the end of that line in vain. `in_fields` is true if the
  // request line has been parsed. The functions below return the outcome.
  void read(const char* line, const char* scanned, bool in_fields);

  // True if the empty line at the end of the head has been parsed.
  bool done() const { return done_; }

  HttpParseError error() const { return error_; }

  // True if the request line has been parsed.
  bool in_fields() const { return in_fields_; }

  // Returns the end of the last parsed line, which is the end of the head if done() is true.
  const char* line() const { return line_; }

  // Returns how far the incomplete line at line() was searched for its end. Valid only if done() is false and error()
  // is kNone.
  const char* scanned() const { return scanned_; }

 private:
  template <class Scan>
  void read_lines();
  template <class Scan>
  bool take_request_line();
  template <class Scan>
  void take_fields();
  template <class Scan>
  HttpParseError take_host(std::string_view value);
  void read_portable();
  void read_ssse3();
  void read_avx2();

  bool take_method(const char* end);
  bool take_other_target(std::string_view target);
  bool take_version(const char* at);
  HttpParseError version_fault(const char* at) const;
  bool grow_fields();
  HttpParseError take_message_field(std::string_view name, std::string_view value);
  HttpParseError take_expect(std::string_view value);
  HttpParseError check_whole_head() const;
  void end_fields(HttpParseError fault);
  bool refuse_or_wait(HttpParseError fault);
  bool is_method_too_long() const;
  bool judge_line(const char* from, HttpParseError fault);
  bool repeats_last_fields();
  static HttpRequestHead::Part part(const char* base, const char* from, const char* end) {
    return {static_cast<uint16_t>(from - base), static_cast<uint16_t>(end - from)};
  }
  HttpRequestHead::Part field_part(std::string_view text) const {
    return part(base_ + request_.fields_begin, text.data(), text.data() + text.size());
  }

  HttpRequestHead& head_;
  HttpRequestHead::RequestLine& request_;
  HttpRequestHead::FieldFacts& facts_;
  const HttpLimits& limits_;
  const char* const base_;
  const char* const end_;
  const char* line_ = nullptr;
  const char* scanned_ = nullptr;
  HttpParseError error_ = HttpParseError::kNone;
  bool in_fields_ = false;
  bool done_ = false;
};

}  // namespace peal::detail
