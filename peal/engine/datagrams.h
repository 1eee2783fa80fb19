// SPDX-License-Identifier: BSD-3-Clause
// Datagrams: a datagram socket of an engine, its options, and the interface by which it reports.
//
// The rules of Engine apply here, too. All calls are made on the engine's thread. No member of DatagramEvents is called
// inside a call of Datagrams; they are called inside Engine::wait(). Each socket has one last completion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>

namespace peal {

// Options of a datagram socket, set before it is bound. A unix socket takes only the two buffer sizes; opening it with
// any other option fails with EOPNOTSUPP.
struct DatagramOptions {
  // SO_RCVBUF (socket(7)) in bytes. 0 leaves net.core.rmem_default, which is 212,992 on most machines. The kernel caps
  // the value at net.core.rmem_max without an error. It then doubles the value, because its own bookkeeping uses the
  // same buffer. A small datagram takes about 800 bytes of the buffer, so a buffer of the default size holds about 256
  // small datagrams. buffers() returns the size that is in effect.
  int receive_buffer_bytes = 0;
  // SO_SNDBUF in bytes. 0 leaves net.core.wmem_default. The kernel caps the value at net.core.wmem_max and then doubles
  // it.
  int send_buffer_bytes = 0;
  // SO_REUSEADDR. Several sockets may be bound to one address if each of them sets this option, as receivers of a
  // multicast group do. The default is off, because a unicast datagram reaches only one of the sockets that share an
  // address.
  bool reuse_address = false;
  // SO_BROADCAST. If false, sending to a broadcast address fails with EACCES, so that no program broadcasts by mistake.
  bool broadcast = false;
  // IP_TTL (ip(7)) or IPV6_UNICAST_HOPS (ipv6(7)), 1 to 255: the number of hops that a unicast datagram may make. 0
  // leaves the system's default, which is 64 on most machines.
  int ttl = 0;
  // IP_MULTICAST_TTL or IPV6_MULTICAST_HOPS, 0 to 255: the number of hops that a datagram to a multicast group may
  // make. 1 is the kernel's default and keeps such datagrams in the local network; 0 keeps them on this host.
  int multicast_ttl = 1;
  // IP_MULTICAST_LOOP or IPV6_MULTICAST_LOOP. If true, members of a group on this host also receive what this socket
  // sends to the group. The kernel's default is true, too, because programs of one host are often members of one group.
  bool multicast_loop = true;
  // IP_MULTICAST_IF or IPV6_MULTICAST_IF: the name of the interface by which datagrams to a group are sent, for example
  // "eth0". If the name is empty, the routing table decides.
  std::string multicast_interface = {};
  // SO_BINDTOIFINDEX: the name of the only interface by which the socket receives and sends. If the name is empty, the
  // socket uses all interfaces. Before Linux 5.7 this option needs CAP_NET_RAW.
  std::string interface = {};
};

namespace detail {

// Returns whether every number in `options` is in the range that the comment of its field gives.
inline bool in_range(const DatagramOptions& options) {
  return options.receive_buffer_bytes >= 0 && options.send_buffer_bytes >= 0 && options.ttl >= 0 &&
         options.ttl <= 255 && options.multicast_ttl >= 0 && options.multicast_ttl <= 255;
}

}  // namespace detail

// Buffer sizes of a socket in bytes, as the kernel counts them. They include the kernel's own bookkeeping, so they are
// mostly twice the sizes that were asked for.
struct DatagramBuffers {
  int receive_bytes = 0;
  int send_bytes = 0;
};

// Implemented by the owner of a datagram socket. The object must live until on_datagrams_closed() is called.
class DatagramEvents {
 public:
  // Delivers one datagram. Bytes that the callee leaves in `bytes` are dropped when it returns. A datagram of more than
  // Engine::kMostDatagramBytes is truncated to that size.
  virtual void on_datagram(const SocketAddress& from, Buffer& bytes) = 0;
  // Reports that the kernel has dropped `count` datagrams since the last such report, although they had arrived. Mostly
  // the receive buffer was full; rarely, a checksum was wrong. The kernel reports drops only together with the next
  // datagram that it accepts. on_datagram() with that datagram follows, unless the callee closes the socket.
  virtual void on_datagrams_dropped(uint64_t /*count*/) {}
  // Reports an error that an earlier sent datagram has met on its way, such as ECONNREFUSED. The socket remains usable.
  virtual void on_datagram_error(std::error_code error) = 0;
  // Reports that the socket is closed, after Datagrams::close(). This is the last callback of the socket.
  virtual void on_datagrams_closed() = 0;

 protected:
  ~DatagramEvents() = default;
};

// A datagram socket. The object owns itself and is destroyed when on_datagrams_closed() is called. After close(), every
// call except local_address() fails with EBADF.
class Datagrams {
 public:
  // Returns the address that the socket is bound to, with the port that the kernel has chosen.
  virtual Result<SocketAddress> local_address() const = 0;

  // Returns the present sizes of the socket's buffers. Makes two system calls.
  virtual Result<DatagramBuffers> buffers() const = 0;

  // Sends the datagram at once or fails; nothing is ever queued in the engine. Errors:
  // - EAGAIN: the kernel's send buffer is full;
  // - EMSGSIZE: the datagram is too long;
  // - ECONNREFUSED: no socket is bound to the unix path; or, for UDP, the call was tried three times and each time met
  //   the error of an earlier datagram;
  // - EACCES: `to` is a broadcast address, and DatagramOptions::broadcast is false;
  // - any other error of sendto(2).
  virtual Result<void> send(const SocketAddress& to, std::string_view bytes) = 0;

  // Joins the multicast group. Until leave() or close(), the socket receives datagrams that are sent to the group's
  // address and to the port of this socket. The port in `group` is ignored. `interface` is the name of the interface to
  // listen on, for example "eth0". If the name is empty, the scope of an IPv6 group decides ("[ff02::1%eth0]:0"); if
  // the group has no scope, the routing table decides. Errors:
  // - EINVAL: `group` is no multicast address;
  // - ENODEV: the interface does not exist, or no route leads to the group;
  // - EADDRINUSE: the socket has joined the group already;
  // - EAFNOSUPPORT: the group's address family is not the socket's;
  // - ENOBUFS: the socket is in too many groups (net.ipv4.igmp_max_memberships, 20);
  // - EOPNOTSUPP: the socket is a unix socket, or the engine's network has no groups.
  virtual Result<void> join(const SocketAddress& group, const std::string& interface) = 0;

  // Leaves a group that the socket has joined with the same `group` and `interface`. Fails with EADDRNOTAVAIL if there
  // was no such join(). Fails with ENODEV, EAFNOSUPPORT and EOPNOTSUPP in the cases in which join() does.
  virtual Result<void> leave(const SocketAddress& group, const std::string& interface) = 0;

  // Closes the socket. on_datagrams_closed() is called later, inside Engine::wait() or shut(). No other member of
  // DatagramEvents is called before that.
  virtual void close() = 0;

 protected:
  ~Datagrams() = default;
};

}  // namespace peal
