// SPDX-License-Identifier: BSD-3-Clause
// The messages by which a worker or a successor reports to the master that started it, over a SOCK_SEQPACKET socket.
// The message "it serves" consists of the sender's process id, four bytes, and nothing else, because a successor may be
// another version of the library than its predecessor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace peal::detail {

enum class ReportKind : uint32_t {
  kServes,  // the sender, a worker or a successor, accepts connections
  kLeaves,  // the sender, a worker, has stopped accepting or will soon, and ends when its clients are done
};

struct Report {
  pid_t pid = 0;
  ReportKind kind = ReportKind::kServes;
};

// Sends a report of this process. If the socket's queue is full, kServes blocks until there is room, and kLeaves is
// dropped. Returns false if the report was not sent, because it was dropped or the master has ended.
bool send_report(int fd, ReportKind kind);

// Returns the next report that has arrived. Returns nullopt if there is none.
std::optional<Report> receive_report(int fd);

}  // namespace peal::detail
