// SPDX-License-Identifier: BSD-3-Clause
// HttpParseError lists the faults of an HTTP/1 message from a peer. After a fault no further message can be read from
// the connection, because the end of the faulty message is unknown.
#pragma once

#include <cstdint>
#include <string_view>

namespace peal {

enum class HttpParseError : uint8_t {
  kNone,
  kBadStatusLine,  // the line is not "HTTP/1." digit, a status of three digits and an optional reason
  // A header line has no colon or no name, has a space before the colon, is folded, or contains a control character
  // such as NUL or a CR without LF.
  kBadHeader,
  kBadLineEnd,    // a line ends in LF without CR
  kHeadTooLarge,  // the head or the trailers exceed their limit; a response's head includes its interim heads
  // The value of Content-Length is not a number or does not fit into 64 bits, a response has two different values, or a
  // request has the field twice.
  kBadContentLength,
  // The value of Transfer-Encoding is empty, names chunked twice, or belongs to a message of HTTP/1.0. In a request
  // also: chunked is not the last coding, or the list has an empty element.
  kBadTransferEncoding,
  kBadChunk,          // the size of a chunk, its extensions, or the line end after its size or its data is malformed
  kChunkLineTooLong,  // the size line of a chunk, or the extensions of all chunks, exceed their limit
  kCutShort,          // the peer closed before the end of the message; in responses only

  // The following errors occur in requests only.
  kBadRequestLine,      // the line is not method, target and version with one space between them
  kMethodTooLong,       // the method has more than 32 bytes, which no registered method has
  kBadTarget,           // the method does not allow this form, or the target has a '#' or a byte that no URI may have
  kRequestLineTooLong,  // the line exceeds HttpLimits::request_line_bytes
  kBadVersion,          // a well-formed version with a major number other than 1
  kFieldLineTooLong,    // a header line exceeds HttpLimits::field_line_bytes
  kTooManyFields,       // the head has more header lines than HttpLimits::fields
  kMissingHost,         // a request of HTTP/1.1 without Host
  kBadHost,             // Host occurs twice, or its value is not a host with an optional port
  kTwoFramings,         // the head has both Content-Length and Transfer-Encoding
  kUnknownCoding,       // Transfer-Encoding names a coding other than chunked
  kUnknownExpectation,  // Expect has a value other than 100-continue
  kBodyTooLarge,        // the body exceeds HttpLimits::body_bytes or HttpRequestParser::set_body_limit()
};
inline constexpr int kHttpParseErrors = 23;

// Returns a short phrase for a sentence such as "malformed response: {}".
std::string_view to_string(HttpParseError error);

// Returns the status of the response to a faulty request: 400, 413, 414, 417, 431, 501 or 505 (RFC 9110 15.5 and 15.6,
// RFC 6585 5).
int http_status(HttpParseError error);

}  // namespace peal
