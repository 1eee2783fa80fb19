// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/socket_setup.h>

#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <peal/engine/listening_socket.h>
#include <peal/engine/turn_budget.h>

namespace peal::detail {
namespace {

Result<void> set(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0 ? Result<void>() : fail(errno);
}

Result<void> apply(int fd, const SocketAddress& address, const SocketOptions& options) {
  Result<void> done;
  if (address.is_ip() && options.no_delay) done = set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (done && options.keep_alive) done = set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  if (done && options.send_buffer_bytes > 0) done = set(fd, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
  if (done && options.receive_buffer_bytes > 0) done = set(fd, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes);
  return done;
}

// Returns the index of the network interface with this name. An empty name gives 0, which lets the kernel choose an
// interface. ENODEV: there is no such interface.
Result<int> index_of(const std::string& interface) {
  if (interface.empty()) return 0;
  const unsigned index = ::if_nametoindex(interface.c_str());
  return index != 0 ? Result<int>(static_cast<int>(index)) : fail(errno);
}

// Sets the IPv4 option and, on an IPv6 socket, also the corresponding IPv6 option. An IPv6 socket needs both, because
// the IPv4 option applies to datagrams that the socket sends to IPv4-mapped addresses (RFC 4291 2.5.5.2).
Result<void> set_of_both(int fd, const SocketAddress& local, int ipv4_name, int ipv6_name, int value) {
  const Result<void> done = set(fd, IPPROTO_IP, ipv4_name, value);
  return done && local.family() == AF_INET6 ? set(fd, IPPROTO_IPV6, ipv6_name, value) : done;
}

Result<void> send_groups_by(int fd, const SocketAddress& local, int interface_index) {
  ip_mreqn by{};
  by.imr_ifindex = interface_index;
  if (::setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by) != 0) return fail(errno);
  if (local.family() != AF_INET6) return {};
  return set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, interface_index);
}

// Returns whether `options` sets an option that only IP sockets have.
bool asks_for_ip(const DatagramOptions& options) {
  return options.reuse_address || options.broadcast || options.ttl != 0 || options.multicast_ttl != 1 ||
         !options.multicast_loop || !options.multicast_interface.empty() || !options.interface.empty();
}

Result<void> apply_ip(int fd, const SocketAddress& local, const DatagramOptions& options) {
  const Result<int> interface = index_of(options.interface);
  if (!interface) return std::unexpected(interface.error());
  const Result<int> groups_by = index_of(options.multicast_interface);
  if (!groups_by) return std::unexpected(groups_by.error());
  const bool is_v6 = local.family() == AF_INET6;
  Result<void> done = is_v6 ? set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) : set(fd, IPPROTO_IP, IP_RECVERR, 1);
  if (done) done = set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  // If IP_MULTICAST_ALL were left at 1, a socket bound to [::] or 0.0.0.0 would receive from every group that any
  // process of this host has joined.
  if (done) done = set_of_both(fd, local, IP_MULTICAST_ALL, IPV6_MULTICAST_ALL, 0);
  if (done && options.reuse_address) done = set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (done && options.broadcast) done = set(fd, SOL_SOCKET, SO_BROADCAST, 1);
  if (done && options.ttl != 0) done = set_of_both(fd, local, IP_TTL, IPV6_UNICAST_HOPS, options.ttl);
  if (done && options.multicast_ttl != 1) {
    done = set_of_both(fd, local, IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, options.multicast_ttl);
  }
  if (done && !options.multicast_loop) done = set_of_both(fd, local, IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, 0);
  if (done && *interface != 0) done = set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, *interface);
  if (done && *groups_by != 0) done = send_groups_by(fd, local, *groups_by);
  return done;
}

Result<Fd> open_socket(const SocketAddress& address, int type) {
  Fd fd(::socket(address.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return fd ? Result<Fd>(std::move(fd)) : fail(errno);
}

// Returns whether no socket is bound to the unix path any more. In this case connect(2) fails with ECONNREFUSED. If a
// stream listener is bound there, connecting a datagram socket fails with EPROTOTYPE instead, and the listener notices
// nothing.
bool refuses(int probe, const SocketAddress& address) {
  return ::connect(probe, address.data(), address.size()) != 0 && errno == ECONNREFUSED;
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Creates and locks the lock file `path`. The lock is held as long as the returned fd is open. EADDRINUSE: another
// process of this user holds the lock. In the following cases no lock is possible. The function then returns an empty
// Fd, and the caller continues without a lock:
// - the file cannot be created, for example because the disk is full;
// - the file is not empty, so it is not a lock file of peal;
// - the file belongs to another user, or another user may open it and could hold the lock for ever.
// The holder of a lock removes the lock file before it unlocks it. A file that is no longer at `path` therefore locks
// nothing, and the function tries again with a new file.
Result<Fd> take_lock(const std::string& path) {
  for (;;) {
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    struct stat facts{};
    if (!file || ::fstat(file.get(), &facts) != 0) return Fd();
    const bool is_private = S_ISREG(facts.st_mode) && (facts.st_mode & 077) == 0 && facts.st_nlink <= 1;
    const bool is_ours = facts.st_uid == ::geteuid() && facts.st_size == 0;
    if (!is_private || !is_ours) return Fd();
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return fail(EADDRINUSE);
      return Fd();
    }
    struct stat now{};
    if (::lstat(path.c_str(), &now) == 0 && same_file(facts, now)) return file;
  }
}

// Removes the file at `path` and binds there. EADDRINUSE: `path` no longer leads to the file that `pinned` describes.
// The caller keeps that file open, so that no other file can get its inode number.
Result<void> replace_file(int fd, const SocketAddress& address, const std::string& path, const struct stat& pinned) {
  struct stat now{};
  if (::stat(path.c_str(), &now) != 0 || !same_file(now, pinned)) return fail(EADDRINUSE);
  if (::unlink(path.c_str()) != 0) return fail(errno);
  return ::bind(fd, address.data(), address.size()) == 0 ? Result<void>() : fail(errno);
}

// Binds to a path at which there is a stale socket file. Two servers that start at once find the same stale file, and
// the slower one must not remove the file that the faster one has just bound. A lock file beside the socket file makes
// them proceed one after the other. In a shared folder such as /tmp, servers of another user cannot remove the file, so
// a lock file of another user is ignored.
Result<void> replace_stale(int fd, const SocketAddress& address, const std::string& path) {
  const Fd pinned(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat stale{};
  if (!pinned || ::fstat(pinned.get(), &stale) != 0 || !S_ISSOCK(stale.st_mode)) return fail(EADDRINUSE);
  const Fd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe || !refuses(probe.get(), address)) return fail(EADDRINUSE);
  const std::string lock_path = path + ".lock";
  const Result<Fd> lock = take_lock(lock_path);
  if (!lock) return std::unexpected(lock.error());
  Result<void> done = replace_file(fd, address, path, stale);
  if (*lock) ::unlink(lock_path.c_str());
  return done;
}

Result<void> bind_to(int fd, const SocketAddress& address) {
  if (::bind(fd, address.data(), address.size()) == 0) return {};
  const int error = errno;
  const std::string path(address.unix_path());
  if (error != EADDRINUSE || path.empty()) return fail(error);
  return replace_stale(fd, address, path);
}

template <class Ask>
Result<SocketAddress> ask_address(int fd, Ask ask) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (ask(fd, address, &size) != 0) return fail(errno);
  return SocketAddress::from_kernel(address, size);
}

}  // namespace

Result<Fd> open_listener(const SocketAddress& address, const ListenOptions& options) {
  Result<Fd> fd = open_socket(address, SOCK_STREAM);
  if (!fd) return fd;
  Result<void> done = apply(fd->get(), address, options.socket);
  if (done && address.is_ip()) done = set(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (done && address.is_ip() && options.reuse_port) done = set(fd->get(), SOL_SOCKET, SO_REUSEPORT, 1);
  if (done && address.family() == AF_INET6) done = set(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only);
  if (done) done = bind_to(fd->get(), address);
  if (!done) return std::unexpected(done.error());
  if (::listen(fd->get(), options.backlog) != 0) return fail(errno);
  return fd;
}

Result<void> prepare_listener(int fd, const SocketOptions& options) {
  const Result<SocketAddress> address = listening_address(fd);
  if (!address) return std::unexpected(address.error());
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return fail(errno);
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return fail(errno);
  return apply(fd, *address, options);
}

Result<Fd> open_datagram_socket(const SocketAddress& address, const DatagramOptions& options) {
  if (!in_range(options)) return fail(EINVAL);
  if (!address.is_ip() && asks_for_ip(options)) return fail(EOPNOTSUPP);
  Result<Fd> fd = open_socket(address, SOCK_DGRAM);
  if (!fd) return fd;
  Result<void> done = apply(fd->get(), address,
                            {.no_delay = false,
                             .send_buffer_bytes = options.send_buffer_bytes,
                             .receive_buffer_bytes = options.receive_buffer_bytes});
  if (done && address.is_ip()) done = apply_ip(fd->get(), address, options);
  if (done) done = bind_to(fd->get(), address);
  if (!done) return std::unexpected(done.error());
  return fd;
}

Result<DatagramBuffers> datagram_buffers(int fd) {
  DatagramBuffers buffers;
  socklen_t size = sizeof buffers.receive_bytes;
  if (::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffers.receive_bytes, &size) != 0) return fail(errno);
  if (::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffers.send_bytes, &size) != 0) return fail(errno);
  return buffers;
}

Result<void> change_membership(int fd, int change, const SocketAddress& group, const std::string& interface) {
  const Result<SocketAddress> local = local_address(fd);
  if (!local) return std::unexpected(local.error());
  if (local->is_unix()) return fail(EOPNOTSUPP);
  if (group.family() != local->family()) return fail(EAFNOSUPPORT);
  const Result<int> index = index_of(interface);
  if (!index) return std::unexpected(index.error());
  const bool is_v6 = group.family() == AF_INET6;
  group_req request{};
  request.gr_interface = static_cast<uint32_t>(*index);
  if (is_v6 && *index == 0) request.gr_interface = reinterpret_cast<const sockaddr_in6*>(group.data())->sin6_scope_id;
  std::memcpy(&request.gr_group, group.data(), group.size());
  const int level = is_v6 ? IPPROTO_IPV6 : IPPROTO_IP;
  return ::setsockopt(fd, level, change, &request, sizeof request) == 0 ? Result<void>() : fail(errno);
}

Result<Fd> open_connector(const SocketAddress& address, const ConnectOptions& options) {
  Result<Fd> fd = open_socket(address, SOCK_STREAM);
  if (!fd) return fd;
  Result<void> done = apply(fd->get(), address, options.socket);
  if (done && options.source.is_set()) {
    // With this option the kernel chooses the local port not in bind(2) but in connect(2). Several connections may then
    // have the same local port, because only the four-tuple of both addresses and ports must be unique. So one source
    // address can have more than 28,000 connections.
    if (options.source.is_ip()) done = set(fd->get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    if (done && ::bind(fd->get(), options.source.data(), options.source.size()) != 0) return fail(errno);
  }
  if (!done) return std::unexpected(done.error());
  return fd;
}

Result<SocketAddress> local_address(int fd) { return ask_address(fd, ::getsockname); }
Result<SocketAddress> peer_address(int fd) { return ask_address(fd, ::getpeername); }

Result<void> set_socket_option(int fd, SocketOption option, int value) {
  switch (option) {
    case SocketOption::kNoDelay: return set(fd, IPPROTO_TCP, TCP_NODELAY, value);
    case SocketOption::kKeepAlive: return set(fd, SOL_SOCKET, SO_KEEPALIVE, value);
    case SocketOption::kSendBuffer: return set(fd, SOL_SOCKET, SO_SNDBUF, value);
    case SocketOption::kReceiveBuffer: return set(fd, SOL_SOCKET, SO_RCVBUF, value);
  }
  return fail(ENOPROTOOPT);
}

std::error_code take_socket_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? std::error_code{} : errno_code(error);
}

uint64_t unsent_bytes(int fd) {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

Result<TcpFacts> tcp_facts(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return fail(errno == EOPNOTSUPP || errno == ENOPROTOOPT ? ENOTSUP : errno);
  }
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  return TcpFacts{.round_trip = microseconds(info.tcpi_rtt),
                  .round_trip_deviation = microseconds(info.tcpi_rttvar),
                  .retransmit_timeout = microseconds(info.tcpi_rto),
                  .since_received = milliseconds(info.tcpi_last_data_recv),
                  .since_sent = milliseconds(info.tcpi_last_data_sent),
                  .congestion_window = info.tcpi_snd_cwnd,
                  .unacknowledged = info.tcpi_unacked,
                  .lost = info.tcpi_lost,
                  .retransmitted = info.tcpi_total_retrans,
                  .segment_bytes = info.tcpi_snd_mss};
}

ssize_t receive_blocks(int fd, msghdr& message, size_t most_bytes, Buffer& bytes) {
  std::array<Block*, kMostReceiveBytes / kLargeBlockBytes> blocks;
  std::array<iovec, blocks.size()> parts;
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = BlockPool::here().acquire(kLargeBlockBytes);
    parts[i] = {.iov_base = blocks[i]->data, .iov_len = kLargeBlockBytes};
  }
  parts.back().iov_len -= kMostReceiveBytes - most_bytes;
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t count = ::recvmsg(fd, &message, MSG_DONTWAIT);
  const int error = errno;
  size_t filled = 0;
  for (ssize_t left = count; left > 0; left -= kLargeBlockBytes) {
    bytes.append(Buffer(blocks[filled++], 0, static_cast<uint32_t>(std::min<ssize_t>(left, kLargeBlockBytes))));
  }
  for (size_t i = blocks.size(); i > filled; --i) BlockPool::release(blocks[i - 1]);
  errno = error;
  return count;
}

std::optional<int> take_queued_error(int fd) {
  alignas(cmsghdr) std::array<char, 512> control;
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
  // An entry of the error queue carries only the error as control data (cmsg(3)), because the socket enables no other
  // kind of control data for this queue.
  const cmsghdr* first = CMSG_FIRSTHDR(&message);
  if (first == nullptr) return 0;
  return static_cast<int>(reinterpret_cast<const sock_extended_err*>(CMSG_DATA(first))->ee_errno);
}

bool is_shut_down(int fd) {
  pollfd asked{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLRDHUP | POLLHUP)) != 0;
}

void arm_reset(int fd) {
  linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace peal::detail
