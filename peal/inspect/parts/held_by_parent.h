// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether clients could still connect after this process has stopped listening. This is so if the parent, a
// master or a service manager, holds the listening sockets open that it passed to this process. The kernel is asked
// (proc(5)) about all sockets of this process.
#pragma once

#include <sys/types.h>

#include <optional>

namespace peal::detail {

// Returns the parent's process id if the parent has a listening socket of this process open, too. Returns nullopt if it
// has none, or if this process may not read the parent's folder of open files.
std::optional<pid_t> parent_that_listens_too();

}  // namespace peal::detail
