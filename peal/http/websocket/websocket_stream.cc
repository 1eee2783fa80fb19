// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/websocket/websocket_stream.h>

#include <peal/loop/loop.h>

namespace peal {

// The socket's context, which holds the stream. If the server or client is destroyed, on_close is not called. In that
// case the destructor of Holder ends the stream.
class WebSocketStream::Holder {
 public:
  explicit Holder(WebSocket& socket, size_t most_waiting)
      : loop_(socket.loop()), stream(std::make_shared<WebSocketStream>(socket, most_waiting)) {}
  ~Holder() {
    if (stream->socket_ == nullptr) return;
    stream->socket_ = nullptr;
    // socket_ended() is posted, because it resumes a waiting coroutine, which must not run while the connection is
    // being destroyed.
    loop_.post([stream = stream] { stream->socket_ended(WebSocketCode::kAbnormal); });
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  Loop& loop_;

 public:
  const std::shared_ptr<WebSocketStream> stream;
};

AsyncQueue<WebSocketMessage>::Pop WebSocketStream::receive() {
  if (paused_ && queue_.size() <= most_waiting_ / 2) {
    paused_ = false;
    if (socket_ != nullptr) socket_->resume();
  }
  return queue_.pop();
}

void WebSocketStream::received(WebSocketKind kind, std::string_view message) {
  WebSocketMessage item{.kind = kind, .text = std::string(message)};
  const bool taken = queue_.try_push(item);
  PEAL_ASSERT(taken, "a message of {} bytes arrived while {} are queued, though the socket should be paused",
              message.size(), queue_.size());
  if (queue_.size() < most_waiting_ || socket_ == nullptr) return;
  paused_ = true;
  socket_->pause();
}

void WebSocketStream::socket_ended(uint16_t code) {
  socket_ = nullptr;
  close_code_ = code;
  queue_.close();
}

WebSocketCallbacks websocket_streams(SharedCallback<void(std::shared_ptr<WebSocketStream>)> on_open,
                                     size_t most_waiting) {
  const auto stream_of = [](WebSocket& socket) { return socket.context<WebSocketStream::Holder>().stream; };
  WebSocketCallbacks callbacks;
  callbacks.on_open = [on_open = std::move(on_open), most_waiting](WebSocket& socket) {
    on_open(socket.emplace_context<WebSocketStream::Holder>(socket, most_waiting).stream);
  };
  callbacks.on_message = [stream_of](WebSocket& socket, WebSocketKind kind, std::string_view message) {
    stream_of(socket)->received(kind, message);
  };
  callbacks.on_close = [stream_of](WebSocket& socket, uint16_t code, std::string_view) {
    stream_of(socket)->socket_ended(code);
  };
  return callbacks;
}

}  // namespace peal
