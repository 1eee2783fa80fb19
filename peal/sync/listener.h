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

// Belongs to its loop. The destructor ends the connections of all its streams. No coroutine may wait in accept() then
// (asserted).
class Listener {
 public:
  // How many connections may wait for accept(). Further ones are closed and counted by shed().
  static constexpr size_t kMostWaiting = 1024;

  explicit Listener(Loop& loop, const ServerOptions& options = {})
      : server_(loop, detail::stream_callbacks([this](Connection&, detail::StreamState& state) { take(state); }),
                options) {}

  // Calls Server::listen().
  Result<SocketAddress> listen(std::string_view address) { return server_.listen(address); }
  // Waits for a connection. Returns Result<Stream>; EPIPE after close(), when no connection is left.
  auto accept() { return waiting_.pop(); }
  // Stops listening. Connections that wait can still be accepted.
  void close() {
    server_.stop_listening();
    waiting_.close();
  }
  // Returns how many connections were closed because kMostWaiting were waiting.
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
