// SPDX-License-Identifier: BSD-3-Clause
// spawn(): starts a program by posix_spawn(3), which is safe in a process of many threads and tells what execve(2)
// failed with. A plain function of fds and texts; any thread.
#pragma once

#include <sys/types.h>

#include <span>

#include <peal/base/fd.h>
#include <peal/process/subprocess.h>

namespace peal::detail {

// `fds` become the child's 0, 1, 2, ..., in order; they lie above these. Of the options the environment, the directory
// and the group count. As Subprocess::start().
Result<pid_t> spawn(const Command& command, std::span<const Fd> fds, const SubprocessOptions& options);

}  // namespace peal::detail
