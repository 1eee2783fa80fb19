// SPDX-License-Identifier: BSD-3-Clause
// spawn() starts a program by posix_spawn(3). This is safe in a process with several threads, and returns the error if
// execve(2) fails. May be called on any thread.
#pragma once

#include <sys/types.h>

#include <span>

#include <peal/base/fd.h>
#include <peal/process/subprocess.h>

namespace peal::detail {

// Starts the program and returns its process id. `fds` become the child's fds 0, 1, 2, ..., in this order; each number
// in `fds` must be at least fds.size(). The only options that are used are environment, clean_environment, directory
// and own_group. Fails as Subprocess::start() does.
Result<pid_t> spawn(const Command& command, std::span<const Fd> fds, const SubprocessOptions& options);

}  // namespace peal::detail
