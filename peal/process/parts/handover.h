// SPDX-License-Identifier: BSD-3-Clause
// How a master starts its successor (SIGUSR2). The successor gets:
//   - the same command line and environment;
//   - the listening sockets, as a service manager would pass them (LISTEN_FDS);
//   - one more fd, whose number is in PEAL_PREDECESSOR. The successor writes its process id to this fd, as four bytes,
//     when it serves;
//   - in PEAL_SOCKET_FILES, as "3:4", the fds of unix sockets whose files the successor has to remove at its end. These
//     sockets were opened by a master. The files of a service manager's sockets are not the master's to remove.
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

// The program and the arguments with which this process was started.
class CommandLine {
 public:
  CommandLine();
  // Executes the program with these arguments in place of the calling process, a child of fork(2). Never returns: if
  // execvp(3) fails, the error is logged and the process exits with code 127.
  [[noreturn]] void execute();
  const std::string& program() const { return program_; }

 private:
  // The path of the program, made absolute, if the command line had a slash. Otherwise a name to search for in PATH.
  // Symbolic links are not resolved, so execute() runs the file that is at the path at that time.
  std::string program_;
  std::vector<std::string> arguments_;
};

// Forks a child that becomes the successor of this master. `report_to` is the fd over which the successor reports that
// it serves. `mask` is the signal mask that the successor gets. Returns the successor's process id, or the error of
// fork(2).
Result<pid_t> start_successor(CommandLine& command, std::span<const SocketGroup> groups, int report_to,
                              const sigset_t& mask);

struct Predecessor {
  Fd report_to;                     // invalid if no master started this process
  std::vector<int> fds_with_files;  // inherited fds whose socket files this process has to remove at its end
};

// Reads the environment variables PEAL_PREDECESSOR and PEAL_SOCKET_FILES, and removes them.
Predecessor take_predecessor();

}  // namespace peal::detail
