// SPDX-License-Identifier: BSD-3-Clause
// What two peers agree on about permessage-deflate (RFC 7692 7.1), in Sec-WebSocket-Extensions (RFC 6455 9.1).
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace peal {

struct WebSocketDeflateOptions {
  // Off: it costs far more CPU than a message otherwise does, which only a slow network gives back.
  bool enabled = false;
  // Smaller messages where they are alike, for memory (websocket_deflate.h) that a peer's handshake alone obtains.
  bool context_takeover = false;
  uint8_t window_bits = 15;  // of what is sent here, at most; 9 to 15
  uint8_t level = 1;         // zlib's 1 to 9: the first step saves the most bytes for its time
  size_t least_bytes = 256;  // shorter messages are sent as they are: nothing would be gained. > 0
};

// What was agreed on. "server" and "client" say whose sending it is about.
struct WebSocketDeflateTerms {
  bool server_no_context_takeover = false;
  bool client_no_context_takeover = false;
  uint8_t server_max_window_bits = 15;  // 8 to 15
  uint8_t client_max_window_bits = 15;

  bool operator==(const WebSocketDeflateTerms&) const = default;
};

struct WebSocketDeflateChoice {
  WebSocketDeflateTerms terms;
  std::string answer;  // the value of the server's Sec-WebSocket-Extensions
};
// A server's choice among a client's offers: the first one that is valid, tightened as `options` want it. Nothing where
// none is, or `offers` is no list of extensions: the connection does without.
std::optional<WebSocketDeflateChoice> choose_websocket_deflate(std::string_view offers,
                                                               const WebSocketDeflateOptions& options);

// The value of Sec-WebSocket-Extensions by which a client offers what it would like.
std::string websocket_deflate_offer(const WebSocketDeflateOptions& options);
// What a server's answer to that offer comes to. Nothing where it is not what was offered: the client fails the
// connection (RFC 6455 9.1).
std::optional<WebSocketDeflateTerms> read_websocket_deflate_answer(std::string_view answer,
                                                                   const WebSocketDeflateOptions& options);

}  // namespace peal
