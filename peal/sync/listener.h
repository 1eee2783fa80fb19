// SPDX-License-Identifier: BSD-3-Clause
// Listener: accepts connections by co_await, one at a time, on one loop. If each connection is to have its own task,
// CoServer is shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/coro/stream.h>
#include <peal/net/server.h>
#include <peal/sync/async_queue.h>

namespace peal {

// A Listener may be used only on its loop's thread. The destructor ends the connections of all its streams, including
// the accepted ones. No coroutine may wait in accept() when the Listener is destroyed (asserted).
class Listener {
 public:
  // The number of connections that may wait for accept(). Further connections are closed and counted by shed().
  static constexpr size_t kMostWaiting = 1024;

  explicit Listener(Loop& loop, const ServerOptions& options = {})
      : server_(loop, detail::stream_callbacks([this](Connection&, detail::StreamState& state) { take(state); }),
                options) {}

  // Calls Server::listen().
  Result<SocketAddress> listen(std::string_view address) { return server_.listen(address); }
  // Waits for a connection. The await returns Result<Stream>. After close(), the await fails with EPIPE when no waiting
  // connection is left.
  auto accept() { return waiting_.pop(); }
  // Stops listening. Connections that already wait for accept() can still be accepted.
  void close() {
    server_.stop_listening();
    waiting_.close();
  }
  // Returns how many connections were closed because kMostWaiting connections were already waiting for accept().
  uint64_t shed() const { return shed_; }

 private:
  void take(detail::StreamState& state) {
    Stream stream(state);
    if (!waiting_.try_push(stream)) ++shed_;
  }

  AsyncQueue<Stream> waiting_{kMostWaiting};
  uint64_t shed_ = 0;
  Server server_;
};

}  // namespace peal
