// SPDX-License-Identifier: BSD-3-Clause
// Feeds requests to the parser in pieces, as a connection does, and writes down everything the parser reports. For the
// same bytes the text must be the same, however they are divided into pieces. Each piece ends at an unmapped page, so
// that a read beyond it crashes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <peal/wire/http/http_request_parser.h>
#include <peal/wire/scan_kind.h>
#include <tests/support/guarded_bytes.h>

namespace peal::test {

// While the object exists, the parsers use one kind of code to scan bytes: portable, SSSE3 or AVX2.
class ForcedScan {
 public:
  explicit ForcedScan(ScanKind kind) : before_(scan_kind()) { force_scan(kind); }
  ~ForcedScan() { force_scan(before_); }
  ForcedScan(const ForcedScan&) = delete;
  ForcedScan& operator=(const ForcedScan&) = delete;

 private:
  ScanKind before_;
};

inline std::vector<ScanKind> scans_of_this_machine() {
  std::vector<ScanKind> kinds;
  for (int kind = 0; kind < kScanKinds; ++kind) {
    if (has_scan(static_cast<ScanKind>(kind))) kinds.push_back(static_cast<ScanKind>(kind));
  }
  return kinds;
}

inline std::string describe(const HttpRequestHead& head) {
  std::string text =
      fmt::format("{} {} path={} query={} authority={} 1.{} {}", head.method_text(), head.target(), head.path(),
                  head.query(), head.authority(), head.minor_version(), head.keep_alive() ? "keep" : "close");
  PEAL_ASSERT(head.method() == http_method(head.method_text()), "method() is not the method of {}", head.method_text());
  if (head.content_length()) text += fmt::format(" length={}", *head.content_length());
  if (head.chunked()) text += " chunked";
  if (head.expects_continue()) text += " expects";
  if (!head.upgrade().empty()) text += fmt::format(" upgrade={}", head.upgrade());
  for (const HttpField& field : head.fields()) text += fmt::format(" [{}={}]", field.name, field.value);
  return text;
}

// Parses `input` in pieces. `cuts` are the offsets at which the second and later pieces begin. Returns one line for
// each head, each body, each end of a request, and for a failure. The pieces of a body are joined.
inline std::string read_requests(HttpRequestParser& parser, HttpRequestHead& head, std::string_view input,
                                 const std::vector<std::size_t>& cuts = {}) {
  GuardedBytes guarded(input.size() + 1);
  std::string seen;
  std::string body;
  std::size_t consumed = 0;
  for (std::size_t piece = 0; piece <= cuts.size(); ++piece) {
    const std::size_t arrived = piece < cuts.size() ? cuts[piece] : input.size();
    for (std::string_view view = guarded.hold(input.substr(consumed, arrived - consumed));;) {
      const HttpRequestStep step = parser.next(view, head);
      PEAL_ASSERT(step.consumed <= view.size(), "the parser consumed {} of {} bytes", step.consumed, view.size());
      PEAL_ASSERT((step.event == HttpRequestEvent::kBody) == !step.body.empty(), "an event with {} bytes of body",
                  step.body.size());
      if (step.event == HttpRequestEvent::kHead) {
        PEAL_ASSERT(view.substr(0, step.consumed).ends_with(head.text()), "text() is not the head: {}", head.text());
        seen += describe(head) + "\n";
      } else if (step.event == HttpRequestEvent::kBody) {
        PEAL_ASSERT(step.body.data() >= view.data() && step.body.data() + step.body.size() <= view.data() + view.size(),
                    "{} bytes of body are not from the input", step.body.size());
        body += step.body;
        PEAL_ASSERT(parser.body_bytes() == body.size(), "body_bytes() is {}, not {}", parser.body_bytes(), body.size());
      } else if (step.event == HttpRequestEvent::kEnd) {
        if (!body.empty()) seen += fmt::format("body {}\n", body);
        body.clear();
        seen += parser.trailers().empty() ? "end\n" : fmt::format("end {}\n", parser.trailers());
      } else if (step.event == HttpRequestEvent::kFailed) {
        if (!body.empty()) seen += fmt::format("body {}\n", body);
        return seen + fmt::format("{} {}\n", http_status(parser.error()), to_string(parser.error()));
      }
      view.remove_prefix(step.consumed);
      consumed += step.consumed;
      if (step.event == HttpRequestEvent::kNeedMore) break;
    }
  }
  return body.empty() ? seen : seen + fmt::format("body {}...\n", body);
}

inline std::string read_requests(std::string_view input, const std::vector<std::size_t>& cuts = {},
                                 const HttpLimits& limits = {}) {
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  return read_requests(parser, head, input, cuts);
}

}  // namespace peal::test
