// SPDX-License-Identifier: BSD-3-Clause
// What can be watched is the same on every engine: what epoll(7) takes. poll(2) and select(2) would call a file always
// ready, and io_uring would tell of an error later.
#pragma once

#include <peal/base/result.h>

namespace peal::detail {

// EBADF: it is not open; EPERM: the kernel does not tell when it is ready (a regular file, a folder, /dev/null).
// Sockets and pipes cost one system call, all else four, and EMFILE where there is no fd left to ask with.
Result<void> check_pollable(int fd);

}  // namespace peal::detail
