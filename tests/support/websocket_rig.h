// SPDX-License-Identifier: BSD-3-Clause
// WebSocketTest: a fixture with an HttpServer that has a WebSocket endpoint, and with its clients. All use one loop,
// which the test runs on its own thread. Suites run on every engine and the simulator.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_client.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <peal/net/client.h>
#include <tests/support/engine_rig.h>
#include <tests/support/engines/hearing.h>
#include <tests/support/stepped_loop.h>
#include <tests/support/websocket_frames.h>

namespace peal::test {

// A client that sends `first` when it is connected, and later the bytes that the test passes to send(). It collects the
// bytes that it receives.
class BytePeer {
 public:
  BytePeer(Loop& loop, const SocketAddress& address, const ConnectionOptions& options = {},
           const std::string& first = {})
      : client_(loop,
                {.on_open =
                     [this, first](Connection& connection) {
                       handle_ = connection.handle();
                       if (!first.empty()) connection.send(first);
                     },
                 .on_message = hearing(received),
                 .on_close =
                     [this](Connection&, CloseReason reason) {
                       ended = true;
                       end_reason = reason;
                     }},
                {.connection = options}) {
    EXPECT_TRUE(client_.connect(address));
  }

  bool connected() const { return static_cast<bool>(handle_); }
  const ConnectionHandle& connection() const { return handle_; }
  void send(std::string_view bytes) const { handle_.send(bytes); }
  // Returns the bytes that the server has sent after the head of its HTTP answer. Returns "" if the head is not
  // complete.
  std::string_view frames() const {
    const size_t end = received.find("\r\n\r\n");
    return end == std::string::npos ? std::string_view() : std::string_view(received).substr(end + 4);
  }

  std::string received;
  bool ended = false;
  CloseReason end_reason{};

 private:
  ConnectionHandle handle_;
  Client client_;
};

class WebSocketTest : public SteppedLoopTest {
 protected:
  void TearDown() override {
    peers_.clear();
    server_.reset();
    SteppedLoopTest::TearDown();
  }

  // One line for each report of a WebSocket: "open", "text Hello", "close 1000 done" and so on.
  std::vector<std::string> journal;
  size_t count(std::string_view line) const { return static_cast<size_t>(std::ranges::count(journal, line)); }
  // Returns callbacks that add lines to the journal. Each line begins with `who`.
  WebSocketCallbacks noting(const std::string& who = {}) {
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this, who](WebSocket&) { journal.push_back(who + "open"); };
    callbacks.on_message = [this, who](WebSocket&, WebSocketKind kind, std::string_view message) {
      journal.push_back(who + (kind == WebSocketKind::kText ? "text " : "binary ") + std::string(message));
    };
    callbacks.on_pong = [this, who](WebSocket&, std::string_view payload) {
      journal.push_back(who + "pong " + std::string(payload));
    };
    callbacks.on_close = [this, who](WebSocket&, uint16_t code, std::string_view reason) {
      journal.push_back(who + "close " + std::to_string(code) + " " + std::string(reason));
    };
    return callbacks;
  }
  static WebSocketCallbacks echoing() {
    WebSocketCallbacks callbacks;
    callbacks.on_message = [](WebSocket& socket, WebSocketKind kind, std::string_view message) {
      socket.send(kind, message);
    };
    return callbacks;
  }

  // Makes a server at a free port, with a WebSocket endpoint at /ws.
  void serve(WebSocketCallbacks callbacks, const WebSocketEndpointOptions& options = {},
             const HttpServerOptions& server_options = {}) {
    address = address_of("127.0.0.1:0");
    serve_again(std::move(callbacks), options, server_options);
  }
  // Destroys the server and makes a new server at the same address.
  void serve_again(WebSocketCallbacks callbacks, const WebSocketEndpointOptions& options = {},
                   const HttpServerOptions& server_options = {}) {
    server_.reset();
    settle();
    Router router;
    router.get("/ws", WebSocketEndpoint(std::move(callbacks), options));
    server_ = std::make_unique<HttpServer>(loop(), std::move(router), server_options);
    Result<SocketAddress> bound = server_->listen(address);
    ASSERT_TRUE(bound) << bound.error().message();
    address = *bound;
  }
  HttpServer& server() { return *server_; }
  void drop_server() { server_.reset(); }
  SocketAddress address;
  std::string url() const { return "ws://" + address.to_string() + "/ws"; }

  // Returns a client that is connected to the server and has sent nothing.
  BytePeer& connect_peer(const ConnectionOptions& options = {}) {
    BytePeer& peer = *peers_.emplace_back(std::make_unique<BytePeer>(loop(), address, options));
    EXPECT_TRUE(run_until([&] { return peer.connected(); }));
    return peer;
  }
  static std::string handshake(std::string_view more_fields = {}) {
    return std::string("GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        .append("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n")
        .append(more_fields)
        .append("\r\n");
  }
  // Returns a client that is connected and has done its WebSocket handshake.
  BytePeer& open_peer(std::string_view more_fields = {}, const ConnectionOptions& options = {}) {
    BytePeer& peer = connect_peer(options);
    peer.send(handshake(more_fields));
    EXPECT_TRUE(run_until([&] { return peer.received.find("\r\n\r\n") != std::string::npos; }));
    EXPECT_TRUE(peer.received.starts_with("HTTP/1.1 101 ")) << peer.received;
    return peer;
  }

 private:
  std::unique_ptr<HttpServer> server_;
  std::vector<std::unique_ptr<BytePeer>> peers_;
};

}  // namespace peal::test
