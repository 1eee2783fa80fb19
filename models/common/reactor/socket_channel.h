// SPDX-License-Identifier: BSD-3-Clause
// SocketChannel: a pair of connected unix sockets, through which a process sends sockets to another process
// (SCM_RIGHTS, unix(7)). Both ends are made before fork(2), and the parent keeps both open. If the receiving process
// dies, the sent sockets therefore wait in the channel for the process that replaces it. Both ends are non-blocking.
// May be used on any thread and in any process.
#pragma once

#include <models/common/plain_sockets.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal::models {

struct SocketChannel {
  static Result<SocketChannel> make();

  Fd sends;
  Fd receives;
};

// Sends `socket` to another process through `sends`, the sending end of a channel. The receiver gets an fd of its own
// for the same connection. send_socket() does not close `socket`: the caller does. Errors:
// - EAGAIN: the channel is full.
// - ETOOMANYREFS: too many sockets of this user have been sent but not received yet.
Result<void> send_socket(int sends, int socket);
// Returns the next socket from `receives`, the receiving end of a channel. If this process has no free fd, the outcome
// is kNoRoom. In this case, the sent socket is lost, because the kernel has closed it.
Accepted receive_socket(int receives);

}  // namespace peal::models
