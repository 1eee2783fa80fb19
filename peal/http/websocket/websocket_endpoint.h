// SPDX-License-Identifier: BSD-3-Clause
// WebSocketEndpoint: a route of an HttpServer that turns connections into WebSockets (RFC 6455 4.2).
//
//   router.get("/echo", peal::WebSocketEndpoint({.on_message = [](peal::WebSocket& socket, peal::WebSocketKind kind,
//                                                                 std::string_view message) {
//     socket.send(kind, message);
//   }}));
//
// Copies share the callbacks, which live until the last socket has ended. With several loops they are called on several
// threads at once. A server that drains closes its sockets with kGoingAway.
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
  // Subprotocols, the most wanted first; the first that the client offers too is chosen. None in common: the socket has
  // none, and the client decides whether it goes on (RFC 6455 4.2.2).
  std::vector<std::string> protocols = {};
  // Whose pages may connect, as browsers write it in Origin: "https://example.com". Others are answered 403. Who sends
  // no Origin is no browser and may. Empty, the default: anybody. An endpoint that trusts cookies must say who, because
  // every page of the web may open a WebSocket to it (RFC 6455 10.2).
  std::vector<std::string> origins = {};
};

class WebSocketEndpoint {
 public:
  explicit WebSocketEndpoint(WebSocketCallbacks callbacks, const WebSocketEndpointOptions& options = {});

  // Answers the handshake: 101, and the connection is a WebSocket; or 400, 403 or 426. Also for handlers of one's own
  // that look at the request first.
  void operator()(HttpExchange& exchange) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace peal
