// SPDX-License-Identifier: BSD-3-Clause
// DatagramSocket: a UDP socket, or a unix datagram socket, on a loop.
//
//   peal::DatagramSocket socket(loop, {.on_datagram = [](auto& self, const auto& from, peal::Buffer& bytes) {
//     (void)self.send_to(from, bytes.front());
//   }});
//   loop.post([&] { socket.open("127.0.0.1:9981"); });
//
// A DatagramSocket belongs to its loop and is used on the loop's thread, inside run(). The user owns it. It may be
// destroyed inside its own callbacks, before or after its loop, and on any thread. If the loop runs on another thread,
// the destructor waits for the loop's current turn. After that none of its callbacks begins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/engine/datagrams.h>
#include <peal/loop/loop.h>

namespace peal {

struct DatagramCallbacks;
namespace detail {
class DatagramPort;
}

struct DatagramStats {
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  // Datagrams that arrived but were dropped by the kernel, because the receive buffer was full or, rarely, because the
  // checksum was wrong. The kernel reports the count with the next datagram that it delivers (SO_RXQ_OVFL), so a drop
  // is counted only when a later datagram is delivered. Always 0 for a unix socket: its senders get EAGAIN instead.
  uint64_t kernel_dropped = 0;
  // Datagrams, and their bytes, that the kernel has accepted for sending.
  uint64_t sent = 0;
  uint64_t sent_bytes = 0;
  uint64_t dropped = 0;     // send_to() failed
  uint64_t errors = 0;      // reported by on_error
  uint64_t exceptions = 0;  // thrown by a callback, and logged; the socket stays open
};

class DatagramSocket {
 public:
  DatagramSocket(Loop& loop, DatagramCallbacks callbacks);
  ~DatagramSocket();
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;

  // Opens the socket and binds it to `local`; may be called once. If the port is 0, the kernel chooses one. Returns the
  // address that was bound. Errors:
  // - EADDRINUSE, EACCES, EMFILE, Trouble::kBadAddress, Trouble::kLoopStopped
  // - EALREADY: the socket was opened before
  // - ENODEV: `options` names an interface that does not exist
  // - EINVAL: a TTL or a size in `options` is out of range
  // - EOPNOTSUPP: `local` is a unix socket, and `options` sets something that only IP has
  Result<SocketAddress> open(const SocketAddress& local, const DatagramOptions& options = {});
  Result<SocketAddress> open(std::string_view local, const DatagramOptions& options = {});
  // Returns the address that was bound. local_address() and all functions down to leave() return EBADF if the socket is
  // not open.
  Result<SocketAddress> local_address() const;
  // Returns the sizes of the buffers that the kernel granted, which may differ from the sizes that open() asked for.
  // Makes two system calls.
  Result<DatagramBuffers> buffers() const;
  // Sends one datagram at once; nothing is queued. Fails with EAGAIN if the kernel has no room, with EMSGSIZE if the
  // datagram is too large, or with another errno of sendto(2). EACCES means that `to` is a broadcast address and
  // DatagramOptions::broadcast is not set.
  Result<void> send_to(const SocketAddress& to, std::string_view bytes);
  // Joins a multicast group: until leave() or close(), the socket receives datagrams that are sent to the group's
  // address and the socket's own port. open() must have bound the socket to the port that the senders use, at 0.0.0.0,
  // [::] or the group's address. The port in `group` is ignored, for example in join("239.255.0.1:0", "eth0"). If
  // `interface` is empty, the scope in `group` ("[ff02::1%eth0]:0") or the routing table decides which interface is
  // used. Errors:
  // - EINVAL: the address is not multicast
  // - EAFNOSUPPORT: the address is of another family than the socket
  // - ENODEV: there is no such interface, or no route
  // - EADDRINUSE: the group was joined already
  // - ENOBUFS: the socket has joined too many groups
  // - EOPNOTSUPP: the socket is a unix socket, or the network is simulated
  Result<void> join(const SocketAddress& group, const std::string& interface = {});
  Result<void> join(std::string_view group, const std::string& interface = {});
  // Leaves a group that join() was called for with the same interface. Fails with EADDRNOTAVAIL if the socket has not
  // joined that group on that interface, or with an error that join() returns too.
  Result<void> leave(const SocketAddress& group, const std::string& interface = {});
  Result<void> leave(std::string_view group, const std::string& interface = {});
  // Closes the socket. Datagrams that have arrived but were not delivered are dropped. Further calls of close() do
  // nothing.
  void close();
  bool is_open() const;
  const DatagramStats& stats() const;

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<detail::DatagramPort> port_;
};

// The callbacks of a DatagramSocket, called on its loop. Any of them may be left unset.
struct DatagramCallbacks {
  // Called for each datagram. Bytes that the callback leaves in `bytes` are dropped.
  Callback<void(DatagramSocket&, const SocketAddress& from, Buffer& bytes)> on_datagram = nullptr;
  // Called when the network reports that a datagram sent earlier was not delivered (ECONNREFUSED, EHOSTUNREACH, ...).
  // The socket stays open.
  Callback<void(DatagramSocket&, std::error_code)> on_error = nullptr;
};

}  // namespace peal
