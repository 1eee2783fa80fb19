// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http_parse_error.h>

namespace peal {

std::string_view to_string(HttpParseError error) {
  switch (error) {
    case HttpParseError::kNone: return "no error";
    case HttpParseError::kBadStatusLine: return "not an HTTP/1 status line";
    case HttpParseError::kBadHeader: return "malformed header line";
    case HttpParseError::kBadLineEnd: return "a line ends in LF without CR";
    case HttpParseError::kHeadTooLarge: return "headers beyond the limit";
    case HttpParseError::kBadContentLength: return "invalid or conflicting Content-Length";
    case HttpParseError::kBadTransferEncoding: return "invalid Transfer-Encoding";
    case HttpParseError::kBadChunk: return "malformed chunk";
    case HttpParseError::kChunkLineTooLong: return "a chunk's size line is beyond the limit";
    case HttpParseError::kCutShort: return "closed in the middle";
  }
  return "unknown error";
}

}  // namespace peal
