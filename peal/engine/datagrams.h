// SPDX-License-Identifier: BSD-3-Clause
// Datagrams: a datagram socket of an engine, what it is opened with and whom it tells. The rules are Engine's: one
// thread, no completion inside a call down, one last completion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>

namespace peal {

// How a datagram socket is opened. A unix socket takes the two buffer sizes only; opening one with any other option is
// EOPNOTSUPP.
struct DatagramOptions {
  // SO_RCVBUF (socket(7)); 0 leaves net.core.rmem_default, mostly 212,992 bytes. The kernel caps the value at
  // net.core.rmem_max without an error, and doubles it to pay for its own bookkeeping. It counts about 800 bytes for a
  // small datagram, so the default holds some 256 of them. buffers() reports what the socket got.
  int receive_buffer_bytes = 0;
  // SO_SNDBUF; 0 leaves net.core.wmem_default. Capped at net.core.wmem_max and doubled likewise.
  int send_buffer_bytes = 0;
  // SO_REUSEADDR: several sockets may be bound to one address if each of them asks for it, as receivers of a multicast
  // group do. It is off because only one of such sockets receives a datagram that is neither multicast nor broadcast.
  bool reuse_address = false;
  // SO_BROADCAST. Without it sending to a broadcast address is EACCES, so nobody broadcasts by mistake.
  bool broadcast = false;
  // IP_TTL (ip(7)), IPV6_UNICAST_HOPS (ipv6(7)), 1 to 255, for datagrams to one host: they pass one router less. 0
  // leaves the system's default, mostly 64.
  int ttl = 0;
  // IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, 0 to 255, for datagrams to a group. With 1, the kernel's default, they stay
  // in the local network; with 0 they stay on this host.
  int multicast_ttl = 1;
  // IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP: members of the group on this host receive what this socket sends, too. That
  // is the kernel's default as well: programs of one host are often members of one group.
  bool multicast_loop = true;
  // IP_MULTICAST_IF, IPV6_MULTICAST_IF: the name of the interface that datagrams to a group leave by ("eth0"). Empty:
  // the routing table decides.
  std::string multicast_interface = {};
  // SO_BINDTOIFINDEX: the name of the only interface that the socket receives from and sends by. Empty: all. Before
  // Linux 5.7 it needs CAP_NET_RAW.
  std::string interface = {};
};

namespace detail {

// Whether each number is in its range.
inline bool in_range(const DatagramOptions& options) {
  return options.receive_buffer_bytes >= 0 && options.send_buffer_bytes >= 0 && options.ttl >= 0 &&
         options.ttl <= 255 && options.multicast_ttl >= 0 && options.multicast_ttl <= 255;
}

}  // namespace detail

// The sizes as the kernel counts them, data and bookkeeping: mostly twice what was asked for.
struct DatagramBuffers {
  int receive_bytes = 0;
  int send_bytes = 0;
};

class DatagramEvents {
 public:
  // One datagram; what is left in `bytes` on return is dropped. One longer than Engine::kMostDatagramBytes comes cut
  // off.
  virtual void on_datagram(const SocketAddress& from, Buffer& bytes) = 0;
  // The kernel dropped `count` more datagrams that arrived, because the receive buffer was full or, rarely, because a
  // checksum was wrong. on_datagram follows: the kernel tells with the first datagram that it has taken in afterwards.
  virtual void on_datagrams_dropped(uint64_t /*count*/) {}
  // What a datagram sent earlier met on its way (ECONNREFUSED, ...). The socket goes on working.
  virtual void on_datagram_error(std::error_code error) = 0;
  // Last completion after Datagrams::close().
  virtual void on_datagrams_closed() = 0;

 protected:
  ~DatagramEvents() = default;
};

// One datagram socket; it is gone when on_datagrams_closed is told. After close() its calls answer EBADF, but for
// local_address().
class Datagrams {
 public:
  virtual Result<SocketAddress> local_address() const = 0;
  // The size of its buffers now. Two system calls.
  virtual Result<DatagramBuffers> buffers() const = 0;
  // Sends at once or not at all: EAGAIN when the kernel's buffer is full, EMSGSIZE, ECONNREFUSED; EACCES: broadcast
  // without the option.
  virtual Result<void> send(const SocketAddress& to, std::string_view bytes) = 0;
  // Receives what is sent to this multicast group and the socket's own port, until leave() or close(). The group's port
  // is ignored. `interface` is the name of the interface to listen on ("eth0"). Empty: that of the group's scope
  // ("[ff02::1%eth0]:0"), or else the routing table decides. EINVAL: no multicast address; ENODEV: no such interface,
  // or no route; EADDRINUSE: joined already; EAFNOSUPPORT: of another family than the socket; ENOBUFS: too many groups
  // (net.ipv4.igmp_max_memberships, 20); EOPNOTSUPP: a unix socket, or a network without groups.
  virtual Result<void> join(const SocketAddress& group, const std::string& interface) = 0;
  // Takes back a join() of the same group and interface. EADDRNOTAVAIL: there was none; ENODEV, EAFNOSUPPORT and
  // EOPNOTSUPP as above.
  virtual Result<void> leave(const SocketAddress& group, const std::string& interface) = 0;
  virtual void close() = 0;

 protected:
  ~Datagrams() = default;
};

}  // namespace peal
