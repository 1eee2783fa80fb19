// SPDX-License-Identifier: BSD-3-Clause
// WebSocketEndpoint: a handler of an HttpServer that answers the handshake (RFC 6455 4.2) and turns the connection into
// a WebSocket.
//
//   router.get("/echo", peal::WebSocketEndpoint({.on_message = [](peal::WebSocket& socket, peal::WebSocketKind kind,
//                                                                 std::string_view message) {
//     socket.send(kind, message);
//   }}));
//
// Copies of an endpoint share the callbacks, which live until the endpoint and its last socket are destroyed. With
// several loops the callbacks run on several threads at once. When the server drains, each socket is closed with
// kGoingAway.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <peal/http/server/http_exchange.h>
#include <peal/http/websocket/websocket.h>

namespace peal {

struct WebSocketEndpointOptions {
  WebSocketOptions socket = {};

  // The subprotocols that the endpoint supports, in order of preference. The first subprotocol of this list that the
  // client offers is chosen. If the client offers none of them, the socket has no subprotocol, and the client may close
  // it (RFC 6455 4.2.2).
  std::vector<std::string> protocols = {};

  // The web sites whose pages may connect, as browsers write them in the Origin field: "https://example.com". A request
  // with any other Origin is answered 403. A request without Origin does not come from a browser and is accepted. If
  // the list is empty, which is the default, every Origin is accepted.
  //
  // Every page of the web may open a WebSocket to this server (RFC 6455 10.2), and the browser sends the cookies along.
  // So an endpoint that relies on cookies must list its origins.
  std::vector<std::string> origins = {};
};

class WebSocketEndpoint {
 public:
  // Throws std::invalid_argument if message_limit_bytes in options.socket, or window_bits, level or least_bytes in
  // options.socket.deflate, is out of range. This is so even if compression is not enabled.
  explicit WebSocketEndpoint(WebSocketCallbacks callbacks, const WebSocketEndpointOptions& options = {});

  // Answers the handshake. If the request is valid, answers 101, and the connection becomes a WebSocket. Otherwise
  // answers 400, 403 (the origin is not listed) or 426 (no upgrade to WebSocket version 13). A handler of the
  // application may check the request first and then call this operator.
  void operator()(HttpExchange& exchange) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace peal
