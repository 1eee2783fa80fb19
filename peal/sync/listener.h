// SPDX-License-Identifier: BSD-3-Clause
// Listener: accepts connections one co_await at a time, on one loop. Where each connection is to have a task of its own
// CoServer is shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <peal/coro/stream.h>
#include <peal/net/server.h>
#include <peal/sync/async_queue.h>

namespace peal {

// It belongs to its loop. Its streams' connections end with it; nobody may wait in accept() then.
class Listener {
 public:
  // Connections that nobody has accepted yet; further ones are closed and counted.
  static constexpr size_t kMostWaiting = 1024;

  explicit Listener(Loop& loop, const ServerOptions& options = {})
      : server_(loop, detail::stream_callbacks([this](Connection&, detail::StreamState& state) { take(state); }),
                options) {}

  // As Server's.
  Result<SocketAddress> listen(std::string_view address) { return server_.listen(address); }
  // Result<Stream>; EPIPE after close(), when none waits any more.
  auto accept() { return waiting_.pop(); }
  // Listens no longer.
  void close() {
    server_.stop_listening();
    waiting_.close();
  }
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
