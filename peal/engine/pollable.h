// SPDX-License-Identifier: BSD-3-Clause
// check_pollable(): makes Engine::watch() refuse the same fds on every engine, namely those that epoll(7) refuses.
// Without it, poll(2) and select(2) would report a regular file as always ready, and io_uring would fail only later.
#pragma once

#include <peal/base/result.h>

namespace peal::detail {

// Succeeds if the kernel can report when `fd` is ready. Costs one system call for a socket or a pipe, and four for any
// other file. Errors:
// - EBADF: the fd is not open;
// - EPERM: the kernel cannot report when the fd is ready, as for a regular file, a folder or /dev/null;
// - EMFILE: no fd is left for the epoll set that this function opens to find out.
Result<void> check_pollable(int fd);

}  // namespace peal::detail
