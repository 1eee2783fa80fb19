// SPDX-License-Identifier: BSD-3-Clause
// WebSocketStream: a WebSocket as a coroutine reads it.
//
//   peal::Task<> echo(std::shared_ptr<peal::WebSocketStream> stream) {
//     for (;;) {
//       auto message = co_await stream->receive();
//       if (!message) co_return;
//       stream->send(message->kind, message->text);
//     }
//   }
//   router.get("/echo", peal::WebSocketEndpoint(peal::websocket_streams(
//       [&](std::shared_ptr<peal::WebSocketStream> stream) { scope.spawn(echo(std::move(stream))); })));
//
// It belongs to the socket's loop, and may outlive the socket: then messages that had come are still received, and
// sending does nothing. Nobody reads: after `most_waiting` messages the socket is paused and TCP slows the peer down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <peal/base/callback.h>
#include <peal/http/websocket/websocket.h>
#include <peal/sync/async_queue.h>

namespace peal {

struct WebSocketMessage {
  WebSocketKind kind = WebSocketKind::kText;
  std::string text;
};

class WebSocketStream {
 public:
  WebSocketStream(WebSocket& socket, size_t most_waiting)
      : most_waiting_(most_waiting), socket_(&socket), queue_(most_waiting) {}
  WebSocketStream(const WebSocketStream&) = delete;
  WebSocketStream& operator=(const WebSocketStream&) = delete;

  // Result<WebSocketMessage>: EPIPE once the socket is closed and all is read. With .within(timeout), ETIMEDOUT.
  AsyncQueue<WebSocketMessage>::Pop receive();
  // As WebSocket's.
  bool send(WebSocketKind kind, std::string_view message) { return socket_ != nullptr && socket_->send(kind, message); }
  bool send_text(std::string_view message) { return send(WebSocketKind::kText, message); }
  void close(uint16_t code = WebSocketCode::kNormal, std::string_view reason = {}) {
    if (socket_ != nullptr) socket_->close(code, reason);
  }
  // Null once it is gone.
  WebSocket* socket() const { return socket_; }
  // Of the end, when it is gone: on_close's.
  uint16_t close_code() const { return close_code_; }

 private:
  friend WebSocketCallbacks websocket_streams(SharedCallback<void(std::shared_ptr<WebSocketStream>)> on_open,
                                              size_t most_waiting);
  class Holder;
  void received(WebSocketKind kind, std::string_view message);
  void socket_ended(uint16_t code);

  const size_t most_waiting_;
  WebSocket* socket_;
  AsyncQueue<WebSocketMessage> queue_;
  uint16_t close_code_ = WebSocketCode::kAbnormal;
  bool paused_ = false;
};

// The callbacks of sockets that are read so; they use the sockets' contexts. `most_waiting` > 0.
WebSocketCallbacks websocket_streams(SharedCallback<void(std::shared_ptr<WebSocketStream>)> on_open,
                                     size_t most_waiting = 16);

}  // namespace peal
