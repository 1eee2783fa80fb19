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
  kBadContentLength,     // not a number, two that differ, or more than 64 bits hold
  kBadTransferEncoding,  // empty, chunked twice, or in HTTP/1.0
  kBadChunk,             // the size of a chunk, or what ends its size or its data
  kChunkLineTooLong,     // the size of a chunk and its extensions
  kCutShort,             // the peer closed in the middle
};
inline constexpr int kHttpParseErrors = 10;

// A short plain phrase, as in "malformed response: {}".
std::string_view to_string(HttpParseError error);

}  // namespace peal
