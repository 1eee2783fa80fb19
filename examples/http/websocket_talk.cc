// SPDX-License-Identifier: BSD-3-Clause
// Talks to a WebSocket server by hand: lines of the standard input become messages, messages are printed.
//   websocket_talk ws://127.0.0.1:8083/chat
// The input is read on a thread of its own, which keeps a handle.
#include <iostream>
#include <thread>

#include <examples/shared/service.h>

#include <peal/http/websocket/websocket_client.h>

int main(int argc, char** argv) {
  using namespace peal;
  Loop loop;
  int result = 0;
  std::jthread reader;
  // [client]
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
  // [client]
  const std::string url = examples::argument(argc, argv, 1, "ws://127.0.0.1:8083/chat");
  if (Result<void> connecting = client.connect(url); !connecting) return examples::failed(url, connecting.error());
  if (Result<void> ran = loop.run(); !ran) return examples::failed("cannot run the loop", ran.error());
  // The server has closed, and a read of a terminal cannot be called off.
  if (reader.joinable()) reader.detach();
  std::fflush(stdout);
  std::_Exit(result);
}
