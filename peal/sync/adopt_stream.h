// SPDX-License-Identifier: BSD-3-Clause
// A Stream of a connected socket that one has: an end of a socketpair(2), standard input as inetd gives it, what
// another process has sent.
//
//   peal::Result<peal::Stream> client = peal::adopt_stream(loop, peal::Fd(STDIN_FILENO));
//
// Callbacks have the same by Server::adopt(connected_stream(std::move(fd)).value()).
#pragma once

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/coro/stream.h>
#include <peal/engine/stream_port.h>
#include <peal/loop/loop.h>
#include <peal/net/connection_options.h>

namespace peal {

// For the engines of the kernel. Makes the socket close-on-exec and non-blocking; the latter is so for whoever else has
// it, too (dup(2), fork(2)). EBADF, ENOTSOCK; ENOTCONN: it has no peer; EPROTOTYPE: it is no stream (SOCK_STREAM). In
// any case the fd is this function's.
Result<LooseStream> connected_stream(Fd socket);

// On the loop's thread, inside run(). With a layer it is plain until start_layer(), as layer_later has it. Those
// errors; Trouble::kLoopStopped; ENOMEM: the connection did not open.
Result<Stream> adopt_stream(Loop& loop, Fd socket, const ConnectionOptions& options = {});

}  // namespace peal
