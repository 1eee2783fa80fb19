// SPDX-License-Identifier: BSD-3-Clause
// WebSocketCarrier: what carries the frames of one WebSocket, both ways: a connection that was upgraded (RFC 6455), or
// a stream of HTTP/2 (RFC 8441). What arrives, and its end, it tells by a WebSocketDriver. On its loop; it outlives the
// socket.
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

  // As Connection's: true while below the high-water mark, after false WebSocketDriver::writable() follows.
  virtual bool send(std::string_view bytes) = 0;
  virtual bool send(Buffer&& bytes) = 0;
  virtual bool send(const SharedBytes& bytes) = 0;
  virtual void shutdown_send() = 0;
  // Ends when what is queued is sent, or at once; WebSocketDriver::closed() follows.
  virtual void close() = 0;
  virtual void abort() = 0;
  // Whether what arrives is to be told; what a paused socket has not taken is shown again.
  virtual void pause() = 0;
  virtual void resume() = 0;

  // So much of a message is gathered: Connection::count_gathered(), of all that go by the connection.
  virtual void count_gathered(size_t held_bytes) = 0;

  virtual bool is_open() const = 0;
  virtual size_t queued_bytes() const = 0;
  // Those, and what the peer's side has not acknowledged.
  virtual uint64_t undelivered_bytes() const = 0;
  virtual uint64_t sent_bytes() const = 0;
  // As Connection's: it grows with each sign of life, half a record too.
  virtual uint64_t arrived_bytes() const = 0;
  virtual Loop& loop() const = 0;
  // That it goes by, which may carry others too, unless it is this one's alone.
  virtual Connection& connection() const = 0;
  virtual bool owns_connection() const { return false; }
};

// All of a connection.
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
  // The socket asked for the end.
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
