// SPDX-License-Identifier: BSD-3-Clause
// What a process tells the master that started it, over a socket that keeps messages apart. "It serves" is its process
// id, four bytes, and nothing else: a successor may be of another version than its predecessor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace peal::detail {

enum class ReportKind : uint32_t {
  kServes,
  kLeaves,  // a worker: it accepts nobody any more, or will soon, and stays until its clients are done
};

struct Report {
  pid_t pid = 0;
  ReportKind kind = ReportKind::kServes;
};

// False: the master is gone, or so busy that there is no room; then only kServes waits.
bool send_report(int fd, ReportKind kind);
// The next that has arrived.
std::optional<Report> receive_report(int fd);

}  // namespace peal::detail
