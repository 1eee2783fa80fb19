// SPDX-License-Identifier: BSD-3-Clause
// HttpLimits bounds what a server accepts in one request. A request beyond a limit is answered with the status that is
// given with the limit, and the connection is closed. Deadlines and rates are options of the server (peal/http). Unread
// input is limited by the Connection (peal/net).
#pragma once

#include <cstdint>

namespace peal {

struct HttpLimits {
  // The longest request line, as in "GET /path?query HTTP/1.1", without its CR LF. A request with a longer line is
  // answered with 414. RFC 9112 3 recommends that a server accepts at least 8,000 bytes.
  uint32_t request_line_bytes = 8 * 1024;
  // The longest header line, without its CR LF. A request with a longer line is answered with 431. The largest cookie
  // of a browser has 4 KiB, and a signed token is rarely longer.
  uint32_t field_line_bytes = 8 * 1024;
  // The most header lines of one head, at least 1. A request with more lines is answered with 431. A browser behind
  // three proxies sends about 40. The limit also bounds the cost of HttpRequestHead::find().
  uint32_t fields = 100;
  // The most bytes of the request line and all header lines together, without the empty line at the end. A request with
  // a longer head is answered with 431. Must be at most kMostHttpHeadBytes. The default fits into two blocks of a
  // Buffer. If a peer sends headers without end, its connection holds no more bytes than this.
  uint32_t head_bytes = 32 * 1024;
  // The longest body, without its chunk framing. A request with a longer body is answered with 413. The default is
  // enough for a form or a JSON document. A route that accepts uploads sets a limit of its own
  // (HttpRequestParser::set_body_limit).
  uint64_t body_bytes = 1024 * 1024;
  // The longest line with the size of a chunk, with its extensions and its CR LF. A longer line is answered with 400. A
  // size has at most 16 digits, and extensions are not used in practice.
  uint32_t chunk_line_bytes = 256;
  // The most bytes of the extensions of all chunks of one body. More bytes are answered with 400. Without this limit a
  // peer could send 256 bytes of framing for each byte of the body and keep a handler waiting.
  uint32_t chunk_extension_bytes = 4 * 1024;
  // The most bytes of all trailer lines of one body. More bytes are answered with 431. Trailers are short in practice,
  // for example a checksum.
  uint32_t trailer_bytes = 4 * 1024;
};

// The largest possible HttpLimits::head_bytes: HttpRequestHead stores offsets into the head in 16 bits.
inline constexpr uint32_t kMostHttpHeadBytes = 60 * 1024;

}  // namespace peal
