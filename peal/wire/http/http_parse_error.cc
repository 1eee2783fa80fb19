// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/http/http_parse_error.h>

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
    case HttpParseError::kCutShort: return "the peer closed before the end of the message";
    case HttpParseError::kBadRequestLine: return "malformed request line";
    case HttpParseError::kMethodTooLong: return "unknown method";
    case HttpParseError::kBadTarget: return "invalid request target";
    case HttpParseError::kRequestLineTooLong: return "the request target is beyond the limit";
    case HttpParseError::kBadVersion: return "neither HTTP/1.0 nor HTTP/1.1";
    case HttpParseError::kFieldLineTooLong: return "a header line is beyond the limit";
    case HttpParseError::kTooManyFields: return "more header lines than the limit";
    case HttpParseError::kMissingHost: return "no Host";
    case HttpParseError::kBadHost: return "invalid or repeated Host";
    case HttpParseError::kTwoFramings: return "both Content-Length and Transfer-Encoding";
    case HttpParseError::kUnknownCoding: return "unknown transfer coding";
    case HttpParseError::kUnknownExpectation: return "unknown expectation";
    case HttpParseError::kBodyTooLarge: return "a body beyond the limit";
  }
  return "unknown error";
}

int http_status(HttpParseError error) {
  switch (error) {
    case HttpParseError::kBodyTooLarge: return 413;
    case HttpParseError::kRequestLineTooLong: return 414;
    case HttpParseError::kUnknownExpectation: return 417;
    case HttpParseError::kHeadTooLarge:
    case HttpParseError::kFieldLineTooLong:
    case HttpParseError::kTooManyFields: return 431;
    case HttpParseError::kMethodTooLong:
    case HttpParseError::kUnknownCoding: return 501;
    case HttpParseError::kBadVersion: return 505;
    default: return 400;
  }
}

}  // namespace peal
