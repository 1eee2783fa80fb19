// SPDX-License-Identifier: BSD-3-Clause
// Talks to a WebSocket server: it sends each line of standard input as a message, and prints each message that it
// receives.
//   websocket_talk ws://127.0.0.1:8083/chat
// A second thread reads standard input. It sends through a handle of the socket, because only a handle may be used on
// another thread.
#include <iostream>
#include <thread>

#include <examples/shared/service.h>

#include <peal/http/websocket/websocket_client.h>

int main(int argc, char** argv) {
  using namespace peal;
  Loop loop;
  int result = 0;
  std::jthread reader;
  // Quoted in docs: [client]
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&](WebSocket& socket) {
    reader = std::jthread([handle = socket.handle()] {
      for (std::string line; std::getline(std::cin, line);) handle.send_text(line);
      handle.close();
    });
  };
  callbacks.on_message = [](WebSocket&, WebSocketKind kind, std::string_view message) {
    if (kind == WebSocketKind::kText) fmt::print("{}\n", message);
    if (kind == WebSocketKind::kBinary) fmt::print("{} bytes\n", message.size());
    std::fflush(stdout);
  };
  callbacks.on_close = [&](WebSocket&, uint16_t code, std::string_view reason) {
    fmt::print("closed: {} {}\n", code, reason);
    loop.stop();
  };
  WebSocketClientOptions options;
  options.socket.deflate = {.enabled = true, .context_takeover = true};
  WebSocketClient client(loop, std::move(callbacks), options, [&](const WebSocketFailure& failure) {
    fmt::print(stderr, "no WebSocket: {}\n", failure.why);
    result = 1;
    loop.stop();
  });
  // End of quote: [client]
  const std::string url = examples::argument(argc, argv, 1, "ws://127.0.0.1:8083/chat");
  if (Result<void> connecting = client.connect(url); !connecting) return examples::failed(url, connecting.error());
  if (Result<void> ran = loop.run(); !ran) return examples::failed("cannot run the loop", ran.error());
  // No connection is open now, but the thread may still wait in getline() for a line from the terminal. That wait
  // cannot be cancelled. detach() keeps the destructor of `reader` from waiting for the thread. _Exit() ends the
  // process without destroying std::cin and other objects, because the thread may still use them.
  if (reader.joinable()) reader.detach();
  std::fflush(stdout);
  std::_Exit(result);
}
