// SPDX-License-Identifier: BSD-3-Clause
// Sends every message back, and compresses it if the client wants that: ws://127.0.0.1:8084/. Test suites for WebSocket
// clients need such a server. `websocket_echo [ADDRESS [LARGEST_MESSAGE]]`: LARGEST_MESSAGE is in bytes.
#include <examples/shared/service.h>

#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_endpoint.h>

int main(int argc, char** argv) {
  using namespace peal;
  const WebSocketOptions options{
      .message_limit_bytes = std::stoul(examples::argument(argc, argv, 2, "16777216")),
      .deflate = {.enabled = true, .context_takeover = true},
  };
  WebSocketCallbacks callbacks;
  callbacks.on_message = [](WebSocket& socket, WebSocketKind kind, std::string_view message) {
    socket.send(kind, message);
  };
  Router router;
  router.get("/", WebSocketEndpoint(std::move(callbacks), {.socket = options, .protocols = {"echo"}}));
  Loop loop;
  HttpServer server(loop, std::move(router));
  const std::string address = examples::argument(argc, argv, 1, "127.0.0.1:8084");
  return examples::listen(server.server(), address) ? examples::run(loop) : 1;
}
