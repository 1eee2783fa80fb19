// SPDX-License-Identifier: BSD-3-Clause
// Handover: how a master starts its successor: the same command line and environment, the listening sockets as a
// service manager would hand them over (LISTEN_FDS), and one more fd, named by PEAL_PREDECESSOR, to which the successor
// writes its process id, as four bytes, once it serves. From then on it removes the socket files of those sockets that
// PEAL_SOCKET_FILES names ("3:4"): a master opened them, and no service manager.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <span>
#include <string>
#include <vector>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/process/parts/socket_group.h>

namespace peal::detail {

// How this process was called, as it is when this is made.
class CommandLine {
 public:
  CommandLine();
  // The child of fork(2), which becomes the program with these. Does not return: a failure is logged, and exit code
  // 127.
  [[noreturn]] void execute();
  const std::string& program() const { return program_; }

 private:
  std::string program_;  // absolute, links unresolved: what stands there when it is executed
  std::vector<std::string> arguments_;
};

// Forks and executes. `mask` is the successor's signal mask. Errors of fork(2).
Result<pid_t> start_successor(CommandLine& command, std::span<const SocketGroup> groups, int report_to,
                              const sigset_t& mask);
struct Predecessor {
  Fd report_to;                     // none: nobody started us that way
  std::vector<int> fds_with_files;  // of LISTEN_FDS
};
// PEAL_PREDECESSOR and PEAL_SOCKET_FILES; the variables are gone afterwards.
Predecessor take_predecessor();

}  // namespace peal::detail
