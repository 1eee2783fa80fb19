// SPDX-License-Identifier: BSD-3-Clause
// HttpHeadReader reads the lines of a request's head, from one that begins at `line` on, as far as they are whole.
// A line is judged once a byte in it ends it or may not be in it at all; of two faults the one in front is named. So
// the verdict does not depend on how the bytes were cut.
#pragma once

#include <cstdint>
#include <string_view>

#include <peal/wire/http/http_limits.h>
#include <peal/wire/http/http_parse_error.h>
#include <peal/wire/http/http_request_head.h>

namespace peal::detail {

class HttpHeadReader {
 public:
  // [base, end) is what there is of the head; `line` is where the first line begins that is not read yet, `scanned` up
  // to where it is known that no byte ends it.
  HttpHeadReader(HttpRequestHead& head, const HttpLimits& limits, const char* base, const char* end)
      : head_(head), request_(head.request_line_), facts_(head.facts_), limits_(limits), base_(base), end_(end) {}

  // Reads on; `in_fields` says whether the request line is behind. What follows is right afterwards.
  void read(const char* line, const char* scanned, bool in_fields);

  bool done() const { return done_; }
  HttpParseError error() const { return error_; }
  bool in_fields() const { return in_fields_; }
  // What follows the last line that was read: of a head that is done, its end.
  const char* line() const { return line_; }
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
