// SPDX-License-Identifier: BSD-3-Clause
// The socket system calls every kernel engine shares: making, binding, asking, setting, and receiving what may be more
// than a block. All sockets are non-blocking and close-on-exec.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include <peal/base/fd.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal::detail {

// socket, setsockopt, bind, listen. A unix path that nobody listens on any more is removed first (its socket file
// outlives a killed server); one that somebody answers on stays, and the answer is EADDRINUSE. While the
// path is replaced, an empty file PATH.lock beside it is the lock. A file of that name that is not empty, or belongs to
// another user, is left alone and does not keep this server out.
Result<Fd> open_listener(const SocketAddress& address, const ListenOptions& options);
// Makes a socket that listens already non-blocking and close-on-exec, and sets these options. ENOTSOCK; EINVAL: it does
// not listen.
Result<void> prepare_listener(int fd, const SocketOptions& options);
// The same for datagrams: socket, setsockopt, bind. Errors that come back go to its error queue, and the kernel counts
// what it drops (SO_RXQ_OVFL); a unix socket has neither.
Result<Fd> open_datagram_socket(const SocketAddress& address, const DatagramOptions& options);
Result<DatagramBuffers> datagram_buffers(int fd);
// Datagrams::join() and leave() of a datagram socket: `change` is MCAST_JOIN_GROUP or MCAST_LEAVE_GROUP (RFC 3678 5.1).
Result<void> change_membership(int fd, int change, const SocketAddress& group, const std::string& interface);
// socket, setsockopt, bind to options.source if set; ready for connect.
Result<Fd> open_connector(const SocketAddress& address, const ConnectOptions& options);
Result<SocketAddress> local_address(int fd);
Result<SocketAddress> peer_address(int fd);
Result<void> set_socket_option(int fd, SocketOption option, int value);
// The pending SO_ERROR, cleared.
std::error_code take_socket_error(int fd);
// Sent but not acknowledged: SIOCOUTQ. 0 where the kernel does not tell.
uint64_t unsent_bytes(int fd);
// TCP_INFO; ENOTSUP for what is no TCP socket.
Result<TcpFacts> tcp_facts(int fd);
// recvmsg(2) of `most_bytes`, kMostReceiveBytes or up to a block less, into `bytes`, which are empty before, in as many
// blocks as are filled. Answers, by errno too, as recvmsg() does.
ssize_t receive_blocks(int fd, msghdr& message, size_t most_bytes, Buffer& bytes);
// What a datagram met that was sent before: the oldest entry of the error queue, 0 if it tells nothing; none when the
// queue is empty.
std::optional<int> take_queued_error(int fd);
// Whether shutdown(2) has ended its input.
bool is_shut_down(int fd);
// Makes the coming close(2) send RST.
void arm_reset(int fd);

}  // namespace peal::detail
