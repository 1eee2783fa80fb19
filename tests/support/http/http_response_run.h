// SPDX-License-Identifier: BSD-3-Clause
// Feeds a response to the parser in pieces and collects everything the parser reports. For the same bytes the outcome
// must be the same, however they are divided into pieces. Each piece ends at an unmapped page, so that a read beyond it
// crashes.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <peal/wire/http/http_response_parser.h>
#include <tests/support/guarded_bytes.h>

namespace peal::test {

struct HttpResponseOutcome {
  bool done = false;
  HttpParseError error = HttpParseError::kNone;
  bool head_complete = false;
  int status = 0;
  int minor_version = 0;
  bool keep_alive = false;
  std::optional<uint64_t> content_length;
  bool chunked = false;
  std::string body;
  std::size_t used = 0;  // size of the response, if it is complete

  bool operator==(const HttpResponseOutcome&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const HttpResponseOutcome& outcome) {
  return out << (outcome.done ? "done" : "not done") << ", " << to_string(outcome.error) << ", head "
             << outcome.head_complete << ", status " << outcome.status << ", HTTP/1." << outcome.minor_version
             << ", keep-alive " << outcome.keep_alive << ", chunked " << outcome.chunked << ", used " << outcome.used
             << ", body \"" << outcome.body << '"';
}

struct HttpResponseRun {
  bool answers_head = false;
  bool closes = false;  // the peer closes after the last piece

  // Parses `input` in pieces. `cuts` are the offsets at which the second and later pieces begin, in ascending order.
  HttpResponseOutcome operator()(HttpResponseParser& parser, std::string_view input,
                                 const std::vector<std::size_t>& cuts = {}) const {
    GuardedBytes guarded(input.size() + 1);
    HttpResponseOutcome outcome;
    parser.begin(answers_head);
    std::size_t at = 0;
    for (std::size_t piece = 0; piece <= cuts.size() && !parser.done(); ++piece) {
      const std::size_t next = piece < cuts.size() ? cuts[piece] : input.size();
      const std::string_view bytes = guarded.hold(input.substr(at, next - at));
      const std::size_t used = parser.parse(bytes, [&](std::string_view part) {
        PEAL_ASSERT(!part.empty() && part.data() >= bytes.data() && part.data() + part.size() <= bytes.end(),
                    "{} bytes of body are not from the input", part.size());
        outcome.body += part;
      });
      at += used;
      if (parser.error() != HttpParseError::kNone) break;
      PEAL_ASSERT(parser.done() || used == bytes.size(), "the parser consumed {} of {} bytes", used, bytes.size());
    }
    if (closes && !parser.done() && parser.error() == HttpParseError::kNone) parser.end();
    PEAL_ASSERT(parser.error() != HttpParseError::kNone || parser.body_bytes() == outcome.body.size(),
                "body_bytes() is {}, but {} bytes of body came", parser.body_bytes(), outcome.body.size());
    outcome.done = parser.done();
    outcome.error = parser.error();
    outcome.head_complete = parser.head_complete();
    if (parser.done()) outcome.used = at;
    if (!parser.head_complete()) return outcome;
    outcome.status = parser.status();
    outcome.minor_version = parser.minor_version();
    outcome.keep_alive = parser.keep_alive();
    outcome.content_length = parser.content_length();
    outcome.chunked = parser.chunked();
    return outcome;
  }
  HttpResponseOutcome operator()(std::string_view input, const std::vector<std::size_t>& cuts = {}) const {
    HttpResponseParser parser;
    return (*this)(parser, input, cuts);
  }
};

}  // namespace peal::test
