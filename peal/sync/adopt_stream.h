// SPDX-License-Identifier: BSD-3-Clause
// Makes a Stream of a socket that is connected already: an end of a socketpair(2), standard input as inetd gives it, a
// socket that another process has sent.
//
//   peal::Result<peal::Stream> client = peal::adopt_stream(loop, peal::Fd(STDIN_FILENO));
//
// A program that uses callbacks calls Server::adopt(connected_stream(std::move(fd)).value()) instead.
#pragma once

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/coro/stream.h>
#include <peal/engine/stream_port.h>
#include <peal/loop/loop.h>
#include <peal/net/connection_options.h>

namespace peal {

// Makes a LooseStream of a connected stream socket, for a loop whose engine uses the kernel's sockets. Takes ownership
// of the fd, even if this function fails. Sets close-on-exec and O_NONBLOCK. O_NONBLOCK also takes effect for others
// that share the open socket by dup(2) or fork(2). Errors:
// - EBADF, ENOTSOCK: the fd is not open, or not a socket.
// - ENOTCONN: the socket has no peer.
// - EPROTOTYPE: the socket is not of type SOCK_STREAM.
Result<LooseStream> connected_stream(Fd socket);

// Makes a Stream of a connected socket. Takes ownership of the fd, even if this function fails. Must be called on the
// loop's thread, inside run() (asserted). A layer in ConnectionOptions::layer does not start before start_layer() is
// called, as with `layer_later`. Errors are those of connected_stream(), and:
// - Trouble::kLoopStopped: the loop has begun to end.
// - ENOMEM: there is no memory for the state of the stream.
Result<Stream> adopt_stream(Loop& loop, Fd socket, const ConnectionOptions& options = {});

}  // namespace peal
