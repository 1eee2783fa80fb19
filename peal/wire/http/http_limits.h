// SPDX-License-Identifier: BSD-3-Clause
// What a server takes of one peer, each bound with its reason. Beyond it the request is refused with the status named
// and the connection ends. Deadlines and rates are the server's (peal/http), bytes of unread input the Connection's.
#pragma once

#include <cstdint>

namespace peal {

struct HttpLimits {
  // "GET /path?query HTTP/1.1" without its CR LF: 414. RFC 9112 3 recommends at least 8,000.
  uint32_t request_line_bytes = 8 * 1024;
  // One header line without its CR LF: 431. A browser's largest cookie is 4 KiB, a signed token seldom more.
  uint32_t field_line_bytes = 8 * 1024;
  // Header lines of one head: 431. A browser behind three proxies sends about 40. It bounds what find() may cost.
  uint32_t fields = 100;
  // Request line and header lines together, without the line that ends them: 431. At most kMostHttpHeadBytes. It fits
  // two blocks, and is what a peer that sends headers for ever can make a connection hold.
  uint32_t head_bytes = 32 * 1024;
  // The body, chunk framing taken off: 413. Enough for a form or a JSON document; a route that takes uploads raises it
  // for itself (HttpRequestParser::set_body_limit).
  uint64_t body_bytes = 1024 * 1024;
  // The size line of one chunk, extensions included: 400. A size has at most 16 digits and nobody uses extensions.
  uint32_t chunk_line_bytes = 256;
  // The extensions of all chunks of one body: 400. Otherwise one byte of body in 256 could keep a handler waiting.
  uint32_t chunk_extension_bytes = 4 * 1024;
  // All trailer lines of one body: 431. They are checksums and the like.
  uint32_t trailer_bytes = 4 * 1024;
};

// A head's parts are kept as 16-bit offsets.
inline constexpr uint32_t kMostHttpHeadBytes = 60 * 1024;

}  // namespace peal
