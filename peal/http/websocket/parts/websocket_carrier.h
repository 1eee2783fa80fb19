// SPDX-License-Identifier: BSD-3-Clause
// WebSocketCarrier: the transport below one WebSocket, which sends and receives the bytes of its frames. The transport
// is a connection that was upgraded (RFC 6455), or can be a stream of HTTP/2 (RFC 8441). The carrier's owner passes
// bytes that arrive, and the end, to the socket's WebSocketDriver. The carrier is used on its loop's thread only and
// must outlive the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/net/connection.h>

namespace peal::detail {

class WebSocketCarrier {
 public:
  WebSocketCarrier() = default;
  WebSocketCarrier(const WebSocketCarrier&) = delete;
  WebSocketCarrier& operator=(const WebSocketCarrier&) = delete;
  virtual ~WebSocketCarrier() = default;

  // The three send() functions queue bytes for the peer. They return true while the queue is below the high-water mark.
  // After false, the carrier's owner calls WebSocketDriver::writable() when the queue has drained.
  virtual bool send(std::string_view bytes) = 0;
  virtual bool send(Buffer&& bytes) = 0;
  virtual bool send(const SharedBytes& bytes) = 0;

  // Sends the end of this direction (FIN) after all queued bytes. The carrier continues to receive.
  virtual void shutdown_send() = 0;

  // Ends the carrier after all queued bytes are sent. The carrier's owner then calls WebSocketDriver::closed().
  virtual void close() = 0;
  // Ends the carrier at once with a reset. The carrier's owner then calls WebSocketDriver::closed().
  virtual void abort() = 0;

  // pause() stops passing input to WebSocketDriver::received(), and resume() starts it again. After resume(),
  // received() is also called with the input that it had left in the buffer.
  virtual void pause() = 0;
  virtual void resume() = 0;

  // Sets how many bytes of an incomplete message this socket holds. If several sockets share the connection, the
  // carrier passes the sum over these sockets to Connection::count_gathered().
  virtual void count_gathered(size_t held_bytes) = 0;

  // True until close() or abort() is called or the peer has ended the carrier.
  virtual bool is_open() const = 0;

  // Returns how many bytes wait to be sent.
  virtual size_t queued_bytes() const = 0;

  // Returns queued_bytes() plus the bytes that were sent and that the peer's side has not acknowledged.
  virtual uint64_t undelivered_bytes() const = 0;

  // Returns how many bytes send() has accepted, including those that are still queued.
  virtual uint64_t sent_bytes() const = 0;

  // Returns how many bytes have arrived from the peer. An incomplete TLS record counts too, because it shows that the
  // peer is alive.
  virtual uint64_t arrived_bytes() const = 0;

  virtual Loop& loop() const = 0;

  // Returns the connection below the carrier. If owns_connection() is false, other carriers may use the same
  // connection.
  virtual Connection& connection() const = 0;

  // True if no other carrier uses the connection.
  virtual bool owns_connection() const { return false; }
};

// The carrier of a WebSocket that has a connection of its own.
class WebSocketConnection final : public WebSocketCarrier {
 public:
  explicit WebSocketConnection(Connection& connection) : connection_(connection) {}

  bool send(std::string_view bytes) override { return connection_.send(bytes); }
  bool send(Buffer&& bytes) override { return connection_.send(std::move(bytes)); }
  bool send(const SharedBytes& bytes) override { return connection_.send(bytes); }
  void shutdown_send() override { connection_.shutdown_send(); }
  void close() override {
    ended_here_ = true;
    connection_.close();
  }
  void abort() override {
    ended_here_ = true;
    connection_.abort();
  }
  // True if the WebSocket has called close() or abort().
  bool ended_here() const { return ended_here_; }
  void pause() override { connection_.pause(); }
  void resume() override { connection_.resume(); }
  void count_gathered(size_t held_bytes) override { connection_.count_gathered(held_bytes); }
  bool is_open() const override { return connection_.is_open(); }
  size_t queued_bytes() const override { return connection_.queued_bytes(); }
  uint64_t undelivered_bytes() const override { return connection_.undelivered_bytes(); }
  uint64_t sent_bytes() const override { return connection_.sent_bytes(); }
  uint64_t arrived_bytes() const override { return connection_.arrived_bytes(); }
  Loop& loop() const override { return connection_.loop(); }
  Connection& connection() const override { return connection_; }
  bool owns_connection() const override { return true; }

 private:
  Connection& connection_;
  bool ended_here_ = false;
};

}  // namespace peal::detail
