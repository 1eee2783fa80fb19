// SPDX-License-Identifier: BSD-3-Clause
// Whether what listens here would go on listening without us: a master, or a service manager, that handed its sockets
// to this process holds them open itself. Asked of the kernel (proc(5)), for the process as a whole.
#pragma once

#include <sys/types.h>

#include <optional>

namespace peal::detail {

// The parent, if it has a listening socket of this process open, too; nothing also when its files may not be read.
std::optional<pid_t> parent_that_listens_too();

}  // namespace peal::detail
