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
  // the value at net.core.rmem_max without an error. It then doubles the value, to pay for its own bookkeeping. A small
  // datagram takes about 800 bytes of it, so the default holds some 256. buffers() returns the size that is in effect.
  int receive_buffer_bytes = 0;
  // SO_SNDBUF in bytes. 0 leaves net.core.wmem_default. The kernel caps it at net.core.wmem_max and doubles it, too.
  int send_buffer_bytes = 0;
  // SO_REUSEADDR. Several sockets may be bound to one address if each of them sets it, as receivers of a multicast
  // group do. The default is off, because only one of these sockets receives a datagram that is neither multicast nor
  // broadcast.
  bool reuse_address = false;
  // SO_BROADCAST. Without it, sending to a broadcast address fails with EACCES, so that nobody broadcasts by mistake.
  bool broadcast = false;
  // IP_TTL (ip(7)) or IPV6_UNICAST_HOPS (ipv6(7)), 1 to 255: the number of hops that a unicast datagram may make. 0
  // leaves the system's default, which is 64 on most machines.
  int ttl = 0;
  // IP_MULTICAST_TTL or IPV6_MULTICAST_HOPS, 0 to 255, for datagrams to a group. 1 is the kernel's default and keeps
  // them in the local network; 0 keeps them on this host.
  int multicast_ttl = 1;
  // IP_MULTICAST_LOOP or IPV6_MULTICAST_LOOP. Members of a group on this host also receive what this socket sends to
  // the group. The kernel's default is on, too, because programs of one host are often members of one group.
  bool multicast_loop = true;
  // IP_MULTICAST_IF or IPV6_MULTICAST_IF: the name of the interface by which datagrams to a group are sent, "eth0". If
  // it is empty, the routing table decides.
  std::string multicast_interface = {};
  // SO_BINDTOIFINDEX: the name of the only interface by which the socket receives and sends. Empty stands for all
  // interfaces. Before Linux 5.7 this option needs CAP_NET_RAW.
  std::string interface = {};
};

namespace detail {

// Returns whether each number is in its range.
inline bool in_range(const DatagramOptions& options) {
  return options.receive_buffer_bytes >= 0 && options.send_buffer_bytes >= 0 && options.ttl >= 0 &&
         options.ttl <= 255 && options.multicast_ttl >= 0 && options.multicast_ttl <= 255;
}

}  // namespace detail

// Buffer sizes of a socket as the kernel counts them, bookkeeping included: mostly twice the size that was asked for.
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
  // Reports that the kernel has dropped `count` more datagrams that had arrived. Mostly the receive buffer was full;
  // rarely, a checksum was wrong. The kernel reports drops with the first datagram that it accepts afterwards, so
  // on_datagram() with that datagram follows, unless the callee closes the socket.
  virtual void on_datagrams_dropped(uint64_t /*count*/) {}
  // Reports an error that a datagram sent earlier has met on its way, such as ECONNREFUSED. The socket remains usable.
  virtual void on_datagram_error(std::error_code error) = 0;
  // Is the last completion after Datagrams::close().
  virtual void on_datagrams_closed() = 0;

 protected:
  ~DatagramEvents() = default;
};

// A datagram socket. It owns itself and is destroyed when on_datagrams_closed() is called. After close(), every call
// except local_address() fails with EBADF.
class Datagrams {
 public:
  // Returns the address that the socket is bound to, with the port that the kernel has chosen.
  virtual Result<SocketAddress> local_address() const = 0;

  // Returns the present sizes of the socket's buffers. Makes two system calls.
  virtual Result<DatagramBuffers> buffers() const = 0;

  // Sends the datagram at once or fails; nothing is ever queued in the engine. Errors:
  // - EAGAIN: the kernel's send buffer is full;
  // - EMSGSIZE: the datagram is too long;
  // - ECONNREFUSED: no socket is bound to the unix path, or errors of earlier datagrams came in during all three tries;
  // - EACCES: a broadcast address, without DatagramOptions::broadcast;
  // - any other error of sendto(2).
  virtual Result<void> send(const SocketAddress& to, std::string_view bytes) = 0;

  // Joins the multicast group: the socket receives what is sent to the group and to the socket's own port, until
  // leave() or close(). The port in `group` is ignored. `interface` is the name of the interface to listen on, "eth0".
  // If it is empty, the scope of an IPv6 group decides ("[ff02::1%eth0]:0"), or else the routing table. Errors:
  // - EINVAL: `group` is no multicast address;
  // - ENODEV: there is no such interface, or no route;
  // - EADDRINUSE: the socket has joined already;
  // - EAFNOSUPPORT: the group's address family is not the socket's;
  // - ENOBUFS: the socket is in too many groups (net.ipv4.igmp_max_memberships, 20);
  // - EOPNOTSUPP: a unix socket, or a network without groups.
  virtual Result<void> join(const SocketAddress& group, const std::string& interface) = 0;

  // Undoes a join() of the same group and interface. Fails with EADDRNOTAVAIL if there was no such join(), and with
  // ENODEV, EAFNOSUPPORT and EOPNOTSUPP as join() does.
  virtual Result<void> leave(const SocketAddress& group, const std::string& interface) = 0;

  // Closes the socket. on_datagrams_closed() follows; no other member of DatagramEvents is called before it.
  virtual void close() = 0;

 protected:
  ~Datagrams() = default;
};

}  // namespace peal
