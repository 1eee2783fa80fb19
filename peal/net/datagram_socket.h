// SPDX-License-Identifier: BSD-3-Clause
// DatagramSocket: a UDP (or unix datagram) socket on a loop.
//
//   peal::DatagramSocket socket(loop, {.on_datagram = [](auto& self, const auto& from, peal::Buffer& bytes) {
//     (void)self.send_to(from, bytes.front());
//   }});
//   loop.post([&] { socket.open("127.0.0.1:9981"); });
//
// It belongs to its loop and is used on the loop's thread, inside run(). The user owns it and may destroy it inside its
// own callbacks, before or after its loop, on any thread (while the loop runs elsewhere that waits for the loop's
// current turn); after that no callback of it begins.
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
  // Arrived, and dropped by the kernel for want of room in the receive buffer (or, rarely, for a wrong checksum). The
  // kernel tells with the next datagram it takes in (SO_RXQ_OVFL), so what it dropped last is counted late. It
  // stays 0 for a unix socket, whose senders get EAGAIN instead.
  uint64_t kernel_dropped = 0;
  uint64_t sent = 0;  // taken by the kernel
  uint64_t sent_bytes = 0;
  uint64_t dropped = 0;     // send_to() failed
  uint64_t errors = 0;      // told by on_error
  uint64_t exceptions = 0;  // left a callback; logged, and the socket goes on
};

class DatagramSocket {
 public:
  DatagramSocket(Loop& loop, DatagramCallbacks callbacks);
  ~DatagramSocket();
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;

  // Once. The answer is the address bound (port 0: the kernel chooses). EADDRINUSE, EACCES, EMFILE, EALREADY,
  // Trouble::kBadAddress, Trouble::kLoopStopped. By its options: ENODEV, no such interface; EINVAL, a TTL or a size out
  // of range; EOPNOTSUPP, a unix socket with options that only IP has.
  Result<SocketAddress> open(const SocketAddress& local, const DatagramOptions& options = {});
  Result<SocketAddress> open(std::string_view local, const DatagramOptions& options = {});
  // EBADF when it is not open, as with all below.
  Result<SocketAddress> local_address() const;
  // What the kernel made of the buffers that open() asked for. Two system calls.
  Result<DatagramBuffers> buffers() const;
  // Now or never: EAGAIN when the kernel has no room, EMSGSIZE, EACCES: broadcast without the option, ...
  Result<void> send_to(const SocketAddress& to, std::string_view bytes);
  // Receives what is sent to a multicast group and the socket's own port, until leave() or close(). So the socket is
  // bound to that port, of 0.0.0.0, [::] or the group itself. The group's port is ignored: join("239.255.0.1:0",
  // "eth0"). Without the name of an interface the group's scope ("[ff02::1%eth0]:0") or the routing table chooses one.
  // EINVAL: no multicast address; ENODEV: no such interface, or no route; EADDRINUSE: joined already; EAFNOSUPPORT: of
  // another family than the socket; ENOBUFS: too many groups; EOPNOTSUPP: a unix socket, or a simulated network.
  Result<void> join(const SocketAddress& group, const std::string& interface = {});
  Result<void> join(std::string_view group, const std::string& interface = {});
  // Takes back a join() of the same group and interface. EADDRNOTAVAIL: there was none; other errors as join()'s.
  Result<void> leave(const SocketAddress& group, const std::string& interface = {});
  Result<void> leave(std::string_view group, const std::string& interface = {});
  // What has arrived unread is dropped. Later calls do nothing.
  void close();
  bool is_open() const;
  const DatagramStats& stats() const;

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<detail::DatagramPort> port_;
};

// None is required.
struct DatagramCallbacks {
  // One datagram; what is left in `bytes` is dropped.
  Callback<void(DatagramSocket&, const SocketAddress& from, Buffer& bytes)> on_datagram = nullptr;
  // What a datagram sent earlier met on its way (ECONNREFUSED, EHOSTUNREACH, ...). The socket goes on.
  Callback<void(DatagramSocket&, std::error_code)> on_error = nullptr;
};

}  // namespace peal
