// SPDX-License-Identifier: BSD-3-Clause
// WebSocketStream: lets a coroutine receive the messages of a WebSocket one after the other.
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
// A stream belongs to the loop of its socket and is used on that loop's thread only. The stream may outlive the socket:
// messages that had arrived can still be received, and sending does nothing. If the coroutine does not read, the socket
// is paused after `most_waiting` messages, and TCP slows the peer down.
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
  // Called by the callbacks that websocket_streams() returns.
  WebSocketStream(WebSocket& socket, size_t most_waiting)
      : most_waiting_(most_waiting), socket_(&socket), queue_(most_waiting) {}
  WebSocketStream(const WebSocketStream&) = delete;
  WebSocketStream& operator=(const WebSocketStream&) = delete;

  // Waits for the next message: `co_await stream->receive()` gives a Result<WebSocketMessage>. The error is EPIPE if
  // the socket has closed and all its messages have been received. `receive().within(timeout)` fails with ETIMEDOUT if
  // no message arrives within `timeout`.
  AsyncQueue<WebSocketMessage>::Pop receive();

  // send(), send_text() and close() do what WebSocket's functions of the same names do. After the socket has closed,
  // send() and send_text() return false, and close() does nothing.
  bool send(WebSocketKind kind, std::string_view message) { return socket_ != nullptr && socket_->send(kind, message); }
  bool send_text(std::string_view message) { return send(WebSocketKind::kText, message); }
  void close(uint16_t code = WebSocketCode::kNormal, std::string_view reason = {}) {
    if (socket_ != nullptr) socket_->close(code, reason);
  }

  // Returns the socket, or null after it has closed.
  WebSocket* socket() const { return socket_; }

  // Returns the code that on_close was called with. Returns kAbnormal while the socket is open, and if the server or
  // client was destroyed before the socket closed.
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

// Returns callbacks that create a WebSocketStream for each socket and pass it to `on_open`, which must be set. Each
// stream holds at most `most_waiting` messages that have not been received; most_waiting must be above 0.
//
// The callbacks use the socket's context, so the application must not call emplace_context() on these sockets.
WebSocketCallbacks websocket_streams(SharedCallback<void(std::shared_ptr<WebSocketStream>)> on_open,
                                     size_t most_waiting = 16);

}  // namespace peal
