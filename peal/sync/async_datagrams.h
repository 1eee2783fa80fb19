// SPDX-License-Identifier: BSD-3-Clause
// AsyncDatagrams: a DatagramSocket as coroutines see it.
//
//   peal::AsyncDatagrams socket(loop);
//   if (auto bound = socket.open("127.0.0.1:5353"); !bound) co_return;
//   while (auto datagram = co_await socket.receive()) (void)socket.send_to(datagram->from, datagram->bytes.front());
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <peal/base/memory/buffer.h>
#include <peal/net/datagram_socket.h>
#include <peal/sync/async_queue.h>

namespace peal {

struct Datagram {
  Datagram(const SocketAddress& sender, Buffer&& payload) : from(sender), bytes(std::move(payload)) {}

  SocketAddress from;
  Buffer bytes;
};

// It belongs to its loop; nobody may wait in receive() when it is destroyed.
class AsyncDatagrams {
 public:
  // `most_waiting` > 0: datagrams that nobody has received yet; further ones are dropped and counted.
  explicit AsyncDatagrams(Loop& loop, size_t most_waiting = 256);

  // As DatagramSocket's.
  Result<SocketAddress> open(const SocketAddress& local, const DatagramOptions& options = {}) {
    return socket_.open(local, options);
  }
  Result<SocketAddress> open(std::string_view local, const DatagramOptions& options = {}) {
    return socket_.open(local, options);
  }
  Result<void> join(const SocketAddress& group, const std::string& interface = {}) {
    return socket_.join(group, interface);
  }
  Result<void> join(std::string_view group, const std::string& interface = {}) {
    return socket_.join(group, interface);
  }
  Result<void> leave(const SocketAddress& group, const std::string& interface = {}) {
    return socket_.leave(group, interface);
  }
  Result<void> leave(std::string_view group, const std::string& interface = {}) {
    return socket_.leave(group, interface);
  }
  // Result<Datagram>, in the order of arrival, to one task after the other; EPIPE after close(), when none waits any
  // more.
  auto receive() { return waiting_.pop(); }
  // As DatagramSocket's: now or never.
  Result<void> send_to(const SocketAddress& to, std::string_view bytes) { return socket_.send_to(to, bytes); }
  void close();
  // Received, and dropped here since too many waited. What the kernel dropped is in socket().stats().
  uint64_t dropped() const { return dropped_; }
  // For its address and its counters.
  const DatagramSocket& socket() const { return socket_; }

 private:
  AsyncQueue<Datagram> waiting_;
  uint64_t dropped_ = 0;
  DatagramSocket socket_;
};

}  // namespace peal
