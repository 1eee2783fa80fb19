// SPDX-License-Identifier: BSD-3-Clause
// The socket system calls that all engines over the kernel share: opening, binding, asking, setting, and receiving more
// than one block. All sockets that are opened here are non-blocking and close-on-exec.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include <peal/base/fd.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal::detail {

// Calls socket, setsockopt, bind and listen. If a killed server has left its socket file at a unix path, the file is
// removed first. If a socket is still bound to the path, fails with EADDRINUSE. While a socket file is being replaced,
// an empty file PATH.lock beside it serves as the lock. A file PATH.lock that is not empty or belongs to another user
// is ignored.
Result<Fd> open_listener(const SocketAddress& address, const ListenOptions& options);

// Makes a listening socket non-blocking and close-on-exec, and sets `options`. ENOTSOCK: the fd is no socket. EINVAL:
// the socket does not listen, or is not a stream socket.
Result<void> prepare_listener(int fd, const SocketOptions& options);

// Calls socket, setsockopt and bind for a datagram socket. An IP socket gets an error queue (IP_RECVERR), in which
// errors of datagrams sent earlier come back. The kernel also counts the datagrams that an IP socket drops
// (SO_RXQ_OVFL). A unix socket has neither.
Result<Fd> open_datagram_socket(const SocketAddress& address, const DatagramOptions& options);

// Implements Datagrams::buffers().
Result<DatagramBuffers> datagram_buffers(int fd);

// Implements Datagrams::join() and leave(). `change` is MCAST_JOIN_GROUP or MCAST_LEAVE_GROUP (RFC 3678 5.1).
Result<void> change_membership(int fd, int change, const SocketAddress& group, const std::string& interface);

// Calls socket and setsockopt. If options.source is set, also calls bind with that address. The returned socket is
// ready for connect(2).
Result<Fd> open_connector(const SocketAddress& address, const ConnectOptions& options);

Result<SocketAddress> local_address(int fd);
Result<SocketAddress> peer_address(int fd);
Result<void> set_socket_option(int fd, SocketOption option, int value);

// Returns the socket's pending error (SO_ERROR) and clears it.
std::error_code take_socket_error(int fd);

// Returns how many bytes the kernel has taken and the peer has not acknowledged (SIOCOUTQ). Returns 0 if the kernel
// does not say.
uint64_t unsent_bytes(int fd);

// Returns what the kernel knows of a TCP connection (TCP_INFO). ENOTSUP: the fd is no TCP socket.
Result<TcpFacts> tcp_facts(int fd);

// Receives at most `most_bytes` by recvmsg(2) into `bytes`, which must be empty. `most_bytes` must be at most
// kMostReceiveBytes, and larger than kMostReceiveBytes minus one block. `bytes` gets as many blocks as were filled.
// Returns the result of recvmsg(), and leaves errno as recvmsg() has set it.
ssize_t receive_blocks(int fd, msghdr& message, size_t most_bytes, Buffer& bytes);

// Takes the oldest entry from the socket's error queue and returns its errno: the error that a datagram sent earlier
// has met. Returns 0 if the entry names no error, and nullopt if the queue is empty.
std::optional<int> take_queued_error(int fd);

// Returns whether shutdown(2) was called for the socket, so that it receives or accepts nothing more.
bool is_shut_down(int fd);

// Makes the next close(2) of the socket send RST.
void arm_reset(int fd);

}  // namespace peal::detail
