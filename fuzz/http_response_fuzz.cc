// SPDX-License-Identifier: BSD-3-Clause
// HTTP responses. What the parser returns must not depend on how the bytes are cut, nor on what it has read before. The
// first byte of an input says whether the response answers HEAD and whether the peer closes. The second byte chooses
// the length of the pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <peal/base/assert.h>
#include <peal/wire/http/http_response_parser.h>

namespace peal {
namespace {

struct Verdict {
  bool done = false;
  HttpParseError error = HttpParseError::kNone;
  int status = 0;
  bool keep_alive = false;
  size_t used = 0;
  std::string body;
  bool operator==(const Verdict&) const = default;
};

Verdict read(HttpResponseParser& parser, std::string_view input, size_t piece_bytes, uint8_t options) {
  Verdict verdict;
  parser.begin((options & 1) != 0);
  size_t at = 0;
  while (at < input.size() && !parser.done() && parser.error() == HttpParseError::kNone) {
    const std::string piece(input.substr(at, piece_bytes));  // a copy, so the sanitizer finds reads beyond its end
    at += parser.parse(piece, [&](std::string_view part) { verdict.body += part; });
  }
  if ((options & 2) != 0 && parser.error() == HttpParseError::kNone) parser.end();
  verdict.done = parser.done();
  verdict.error = parser.error();
  if (parser.head_complete()) verdict.status = parser.status();
  verdict.keep_alive = parser.keep_alive();
  if (parser.done()) verdict.used = at;
  return verdict;
}

}  // namespace
}  // namespace peal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);
  const peal::HttpResponseLimits limits{.head_bytes = 600, .chunk_line_bytes = 60};
  peal::HttpResponseParser parser(limits);
  const peal::Verdict whole = peal::read(parser, input, input.size() + 1, data[0]);
  PEAL_ASSERT(whole.body.size() <= input.size(), "a body of {} bytes in an input of {}", whole.body.size(),
              input.size());
  PEAL_ASSERT(peal::read(parser, input, input.size() + 1, data[0]) == whole,
              "the second reading differs from the first");
  peal::HttpResponseParser cut(limits);
  PEAL_ASSERT(peal::read(cut, input, size_t{data[1]} + 1, data[0]) == whole, "pieces of {} bytes are read differently",
              data[1] + 1);
  return 0;
}
