// SPDX-License-Identifier: BSD-3-Clause
// AsyncDatagrams: a DatagramSocket for coroutines.
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

// A received datagram and the address of its sender.
struct Datagram {
  Datagram(const SocketAddress& sender, Buffer&& payload) : from(sender), bytes(std::move(payload)) {}

  SocketAddress from;
  Buffer bytes;
};

// An AsyncDatagrams may be used only on its loop's thread. No coroutine may wait in receive() when the object is
// destroyed (asserted).
class AsyncDatagrams {
 public:
  // Makes a socket that is not open yet. Received datagrams are kept until receive() is called, but at most
  // `most_waiting` of them. Further datagrams are dropped and counted by dropped(). `most_waiting` must be > 0.
  explicit AsyncDatagrams(Loop& loop, size_t most_waiting = 256);

  // open(), join() and leave() call the functions of DatagramSocket with these names.
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
  // Waits for a datagram. The await returns Result<Datagram>. Each datagram is given to one coroutine, in the order of
  // arrival. After close(), the await fails with EPIPE when no received datagram is left.
  auto receive() { return waiting_.pop(); }
  // Calls DatagramSocket::send_to(), which sends the datagram at once or fails. Never waits.
  Result<void> send_to(const SocketAddress& to, std::string_view bytes) { return socket_.send_to(to, bytes); }
  // Closes the socket. Coroutines that wait in receive() fail with EPIPE.
  void close();

  // Returns how many received datagrams were dropped because `most_waiting` others were already waiting for receive().
  // socket().stats() counts the datagrams that the kernel has dropped.
  uint64_t dropped() const { return dropped_; }
  // Returns the socket, so that its address and its counters can be read.
  const DatagramSocket& socket() const { return socket_; }

 private:
  AsyncQueue<Datagram> waiting_;
  uint64_t dropped_ = 0;
  DatagramSocket socket_;
};

}  // namespace peal
