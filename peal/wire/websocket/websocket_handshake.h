// SPDX-License-Identifier: BSD-3-Clause
// The opening handshake of WebSocket (RFC 6455 4), both sides of it: what an HTTP request or response must say for the
// connection to become one, and what was agreed on. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_request_text.h>
#include <peal/wire/websocket/websocket_deflate_terms.h>

namespace peal {

// What makes a handshake fail: the status that a server answers with, or answered with (0: its answer was none), and a
// sentence.
struct WebSocketRefusal {
  int status = 400;
  std::string why;
};

// Sec-WebSocket-Accept of that Sec-WebSocket-Key (RFC 6455 4.2.2).
std::string websocket_accept(std::string_view key);

// Collects, field by field, what a request says about it, for a server.
class WebSocketRequestFields {
 public:
  // `value` without the white space around it.
  void take(const HttpField& field);
  // Nothing when it is a handshake that may be answered: a GET of HTTP/1.1 or later with all it needs.
  std::optional<WebSocketRefusal> refusal(bool is_get, int minor_version) const;

  const std::string& key() const { return key_; }
  // As offered, a list; empty where nothing was.
  const std::string& extensions() const { return extensions_; }
  // Empty where the request says none: no browser sent it (RFC 6455 10.2).
  const std::string& origin() const { return origin_; }
  // The first of `known`, which is in the server's order of preference, that the client offers; else empty.
  std::string_view choose_protocol(std::span<const std::string> known) const;

 private:
  std::string key_;
  std::string version_;
  std::string protocols_;
  std::string extensions_;
  std::string origin_;
  int keys_ = 0;
  bool upgrades_ = false;    // Upgrade: websocket
  bool connection_ = false;  // Connection: upgrade
};
inline constexpr std::string_view kWebSocketVersion = "13";

// What a client asks for.
struct WebSocketRequest {
  std::string target = "/";            // path and query
  std::string host;                    // the value of the Host field
  std::string key;                     // base64 of 16 random bytes
  std::string origin;                  // empty: not said
  std::vector<std::string> protocols;  // offered, the most wanted first
  WebSocketDeflateOptions deflate;
  std::vector<HttpRequestField> fields;  // more of them: Authorization, Cookie, ...
};
// Its text; refused as compose_http_request() does, and where a protocol is no token or is named twice.
std::expected<std::string, std::string> compose_websocket_request(const WebSocketRequest& request);

struct WebSocketAgreement {
  std::string protocol;  // empty: none
  std::optional<WebSocketDeflateTerms> deflate;
};
// Judges a server's answer to that request: its head, from the status line to the empty line (RFC 6455 4.1). An interim
// one (RFC 9110 15.2) is a refusal with its status, and another head follows it.
std::expected<WebSocketAgreement, WebSocketRefusal> read_websocket_response(std::string_view head,
                                                                            const WebSocketRequest& request);

}  // namespace peal
