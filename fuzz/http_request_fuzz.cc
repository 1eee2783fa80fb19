// SPDX-License-Identifier: BSD-3-Clause
// HTTP requests. What is read must not depend on how the bytes are cut, nor on which scan reads them, nor on what the
// head object has read before. The first byte of an input chooses the length of the pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/http/http_request_parser.h>
#include <peal/wire/scan_kind.h>
#include <peal/wire/uri/http_path.h>

namespace peal {
namespace {

// Everything that a server would act upon, in order.
struct Record {
  std::string seen;
  std::string body;
  HttpParseError error = HttpParseError::kNone;
  bool operator==(const Record&) const = default;
};

void note_head(const HttpRequestHead& head, Record& record) {
  const auto note = [&record](std::string_view text) { record.seen.append(text).push_back('\n'); };
  for (const std::string_view text :
       {head.method_text(), head.target(), head.path(), head.query(), head.authority(), head.upgrade(), head.text()}) {
    note(text);
  }
  for (const HttpField& field : head.fields()) {
    note(field.name);
    note(field.value);
    PEAL_ASSERT(head.find(field.name).has_value(), "{} is not found", field.name);
    PEAL_ASSERT(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
                "a field value has a line end or NUL");
  }
  note(std::to_string(head.content_length().value_or(0)));
  record.seen.push_back(static_cast<char>('0' + head.minor_version() + 2 * head.keep_alive() + 4 * head.chunked() +
                                          8 * head.expects_continue() + 16 * head.has_body()));
  PEAL_ASSERT(!head.chunked() || !head.content_length(), "the head is chunked and has a length");
}

Record read(HttpRequestParser& parser, HttpRequestHead& head, std::string_view input, size_t piece_bytes) {
  Record record;
  size_t consumed = 0;
  for (size_t arrived = 0; arrived < input.size();) {
    arrived += std::min(piece_bytes, input.size() - arrived);
    // A copy, so that the sanitizer finds reads beyond its end.
    const std::string memory(input.substr(consumed, arrived - consumed));
    std::string_view view = memory;
    for (;;) {
      const HttpRequestStep step = parser.next(view, head);
      PEAL_ASSERT(step.consumed <= view.size(), "{} bytes were taken of {}", step.consumed, view.size());
      if (step.event == HttpRequestEvent::kHead) note_head(head, record);
      record.body.append(step.body);
      if (step.event == HttpRequestEvent::kEnd) record.body.append("|").append(parser.trailers()).append("|");
      view.remove_prefix(step.consumed);
      consumed += step.consumed;
      if (step.event == HttpRequestEvent::kFailed) {
        record.error = parser.error();
        return record;
      }
      if (step.event == HttpRequestEvent::kNeedMore) break;
    }
  }
  return record;
}

Record read_fresh(const HttpLimits& limits, std::string_view input, size_t piece_bytes) {
  HttpRequestParser parser(limits);
  HttpRequestHead head;
  return read(parser, head, input, piece_bytes);
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const peal::HttpLimits limits{.request_line_bytes = 200,
                                .field_line_bytes = 150,
                                .fields = 10,
                                .head_bytes = 600,
                                .body_bytes = 300,
                                .chunk_line_bytes = 60,
                                .chunk_extension_bytes = 100,
                                .trailer_bytes = 100};
  const peal::Record whole = peal::read_fresh(limits, input, input.size() + 1);
  PEAL_ASSERT(peal::read_fresh(limits, input, size_t{data[0]} + 1) == whole, "pieces of {} bytes are read differently",
              data[0] + 1);
  const peal::ScanKind best = peal::scan_kind();
  peal::force_scan(peal::ScanKind::kPortable);
  PEAL_ASSERT(peal::read_fresh(limits, input, size_t{data[0]} + 1) == whole, "the portable scan reads differently");
  peal::force_scan(best);
  static peal::HttpRequestHead used_before;
  peal::HttpRequestParser parser(limits);
  PEAL_ASSERT(peal::read(parser, used_before, input, input.size() + 1) == whole,
              "a head that was used before reads differently");
  return 0;
}
