// SPDX-License-Identifier: BSD-3-Clause
// What can be wrong with an HTTP/1 message that a peer sent. The connection it came on is of no further use.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

enum class HttpParseError : uint8_t {
  kNone,
  kBadStatusLine,        // not HTTP/1.x and a status of three digits
  kBadHeader,            // no colon, no name, a space before the colon, a folded line, a bare CR, NUL or the like
  kBadLineEnd,           // a line that ends in LF alone
  kHeadTooLarge,         // the head, those of interim responses included, or the trailers
  kBadContentLength,     // not a number, two that differ (in a request: two), or more than 64 bits hold
  kBadTransferEncoding,  // empty, chunked twice, or in HTTP/1.0; in a request: not chunked at the end
  kBadChunk,             // the size of a chunk, its extensions, or what ends its size or its data
  kChunkLineTooLong,     // the size of a chunk and its extensions, or the extensions of all chunks
  kCutShort,             // the peer closed in the middle
  // Of requests alone:
  kBadRequestLine,      // not method, target and version with one space between
  kMethodTooLong,       // longer than any method there is
  kBadTarget,           // of no form that fits the method, a fragment, or a character that is not visible ASCII
  kRequestLineTooLong,  // HttpLimits::request_line_bytes
  kBadVersion,          // neither HTTP/1.0 nor HTTP/1.1
  kFieldLineTooLong,    // HttpLimits::field_line_bytes
  kTooManyFields,       // HttpLimits::fields
  kMissingHost,         // in HTTP/1.1
  kBadHost,             // two of them, or not a host with perhaps a port
  kTwoFramings,         // Content-Length and Transfer-Encoding
  kUnknownCoding,       // a transfer coding beside chunked
  kUnknownExpectation,  // Expect with anything but 100-continue
  kBodyTooLarge,        // HttpLimits::body_bytes, or what took its place
};
inline constexpr int kHttpParseErrors = 23;

// A short plain phrase, as in "malformed response: {}".
std::string_view to_string(HttpParseError error);

// The status to answer a faulty request with: 400, 413, 414, 417, 431, 501 or 505 (RFC 9110 15.5 and 15.6).
int http_status(HttpParseError error);

}  // namespace peal
