// SPDX-License-Identifier: BSD-3-Clause
// The negotiation of permessage-deflate (RFC 7692 7.1), the compression of WebSocket messages. The client sends an
// offer in Sec-WebSocket-Extensions (RFC 6455 9.1), the server answers in the same field, and both use the resulting
// terms. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

struct WebSocketDeflateOptions {
  // True if this side offers compression (client) or accepts it (server). The default is false, because compression
  // costs far more CPU time than everything else that is done for a message. It saves time only on a slow network.
  bool enabled = false;

  // True if a compressed message may refer to earlier ones. Similar messages become smaller, but each connection then
  // holds the memory that websocket_deflate.h lists. It is allocated for the first compressed message in each direction
  // and held until the connection ends. The default is false, because one small compressed message from each peer is
  // enough to make this side hold it.
  bool context_takeover = false;

  // The window of this side's compressor has at most 2^window_bits bytes. Must be 9 to 15.
  uint8_t window_bits = 15;

  // The compression level of zlib, 1 to 9. Level 1 saves the most bytes for its CPU time.
  uint8_t level = 1;

  // The smallest message that is compressed, in bytes. Compression would save nothing for shorter messages. Must be
  // above 0.
  size_t least_bytes = 256;
};

// The terms that both sides have agreed on. Members whose names begin with "server" are about the messages that the
// server sends. Members whose names begin with "client" are about the messages that the client sends.
struct WebSocketDeflateTerms {
  bool server_no_context_takeover = false;
  bool client_no_context_takeover = false;
  uint8_t server_max_window_bits = 15;  // 8 to 15
  uint8_t client_max_window_bits = 15;

  bool operator==(const WebSocketDeflateTerms&) const = default;
};

// The terms that a server has chosen, and its answer to the client.
struct WebSocketDeflateChoice {
  WebSocketDeflateTerms terms;
  std::string answer;  // the value of Sec-WebSocket-Extensions in the response
};

// Chooses the terms for a server. `offers` is the value of Sec-WebSocket-Extensions in the client's request. Takes the
// first valid offer and restricts it further by `options`. Returns nullopt if compression is not enabled, if no offer
// is valid, or if the list is malformed. The connection then works without compression.
std::optional<WebSocketDeflateChoice> choose_websocket_deflate(std::string_view offers,
                                                               const WebSocketDeflateOptions& options);

// Returns the offer of a client: the value of Sec-WebSocket-Extensions in its request.
std::string websocket_deflate_offer(const WebSocketDeflateOptions& options);

// Returns the terms of compression for a client that sent websocket_deflate_offer(options). `answer` is the value of
// Sec-WebSocket-Extensions in the server's response. Returns nullopt if the answer is malformed or does not match the
// offer. The client must then fail the connection (RFC 6455 9.1).
std::optional<WebSocketDeflateTerms> read_websocket_deflate_answer(std::string_view answer,
                                                                   const WebSocketDeflateOptions& options);

}  // namespace peal
