// SPDX-License-Identifier: BSD-3-Clause
// The opening handshake of WebSocket (RFC 6455 4) for server and client. An HTTP request with certain fields asks to
// change the connection to WebSocket, and the response 101 accepts. These functions compose and check both messages.
// They do no I/O; one thread at a time.
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

// The reason why a handshake fails. On a server, `status` is the status of the response to send. On a client, it is the
// status that the server sent, or 0 if the bytes of the server are not the head of an HTTP/1 response.
struct WebSocketRefusal {
  int status = 400;
  std::string why;  // a sentence without a full stop
};

// Returns the Sec-WebSocket-Accept that belongs to a Sec-WebSocket-Key (RFC 6455 4.2.2).
std::string websocket_accept(std::string_view key);

// Collects, for a server, the fields of a request that belong to the handshake.
class WebSocketRequestFields {
 public:
  // Evaluates one field of the request, and ignores fields that do not belong to the handshake. The value must not have
  // white space around it.
  void take(const HttpField& field);

  // Returns nullopt if the request is a valid handshake: a GET of HTTP/1.1 with all required fields (RFC 6455 4.2.1).
  // Otherwise returns the response to send: 400, or 426 if Upgrade, Connection or the version is missing or wrong. Call
  // refusal() after take() was called for all fields.
  std::optional<WebSocketRefusal> refusal(bool is_get, int minor_version) const;

  // Returns the value of Sec-WebSocket-Key.
  const std::string& key() const { return key_; }

  // Returns the extensions that the client offers, as a comma-separated list. Empty if the client offers none.
  const std::string& extensions() const { return extensions_; }

  // Returns the value of Origin, or "" if the request has none. Browsers always send it (RFC 6455 10.2).
  const std::string& origin() const { return origin_; }

  // Returns the first subprotocol in `known` that the client offers, or "" if it offers none of them. `known` is in the
  // server's order of preference. Upper and lower case differ. The result is a view into `known`.
  std::string_view choose_protocol(std::span<const std::string> known) const;

 private:
  std::string key_;
  std::string version_;
  std::string protocols_;
  std::string extensions_;
  std::string origin_;
  int keys_ = 0;             // the number of Sec-WebSocket-Key fields
  bool upgrades_ = false;    // true if there is "Upgrade: websocket"
  bool connection_ = false;  // true if there is "Connection: upgrade"
};

// The only value of Sec-WebSocket-Version that is supported (RFC 6455 4.1).
inline constexpr std::string_view kWebSocketVersion = "13";

// The handshake request of a client.
struct WebSocketRequest {
  std::string target = "/";              // path and query
  std::string host;                      // the value of the Host field
  std::string key;                       // base64 of 16 random bytes
  std::string origin;                    // the value of the Origin field, which is not sent if this is empty
  std::vector<std::string> protocols;    // the subprotocols to offer, in order of preference
  WebSocketDeflateOptions deflate;       // the compression to offer
  std::vector<HttpRequestField> fields;  // additional fields, for example Authorization or Cookie
};

// Returns the text of the request. Returns a sentence that describes the mistake if compose_http_request() refuses the
// request, or if a subprotocol is not a token or is repeated.
std::expected<std::string, std::string> compose_websocket_request(const WebSocketRequest& request);

// The result of a successful handshake, for the client.
struct WebSocketAgreement {
  std::string protocol;                          // the subprotocol that the server chose; empty if there is none
  std::optional<WebSocketDeflateTerms> deflate;  // the terms of compression; nullopt if messages are not compressed
};

// Checks the head of a server's response to `request`, from the status line to the empty line (RFC 6455 4.1). Any
// status other than 101 is a refusal with that status. After an interim response such as 103 (RFC 9110 15.2) the caller
// should read the next head and call again.
std::expected<WebSocketAgreement, WebSocketRefusal> read_websocket_response(std::string_view head,
                                                                            const WebSocketRequest& request);

}  // namespace peal
