// SPDX-License-Identifier: BSD-3-Clause
// SocketChannel: a pair of unix sockets through which connections travel from process to process (SCM_RIGHTS, unix(7)).
// Both ends are made before the fork and stay open in the one who forked: what was sent to a process that died waits
// for whoever takes its place. Neither end blocks. Any thread, any process.
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

// The socket is in both processes then, or in transit; the caller closes its own. EAGAIN: the channel is full.
// ETOOMANYREFS: this user has too many sockets in transit.
Result<void> send_socket(int sends, int socket);
// The next one. kNoRoom: there is no fd left, and the kernel has closed the one that came.
Accepted receive_socket(int receives);

}  // namespace peal::models
