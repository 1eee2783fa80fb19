// SPDX-License-Identifier: BSD-3-Clause
// ServerProcess: a server that a duel starts and ends. It has a process group of its own. Use it on the loop's thread
// only.
//
// The server's stdin is /dev/null. The server's output is read, so that its writes never block, but only the beginning
// is kept. When the thread that started the server ends, the server gets SIGTERM. When this process ends, the server's
// whole group gets SIGTERM.
#pragma once

#include <csignal>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <load/duel/group_guard.h>
#include <peal/base/fd.h>
#include <peal/base/socket_address.h>
#include <peal/loop/watch.h>

namespace peal::load {

// Reads the output of a child process from a pipe until the pipe is closed, so the child never blocks when it writes.
// Keeps only the first 4 KiB of the output.
class KeptOutput {
 public:
  KeptOutput(Loop& loop, Fd pipe);

  // Returns the beginning of all output so far, at most 4 KiB. Before that, reads from the pipe once, without waiting,
  // because the loop may not have read the newest output yet.
  const std::string& text();

 private:
  void read();

  std::string text_;
  Watch watch_;
};

// Returns why the process `pid` cannot be a server in a duel, for example "a zombie". Returns an empty text if the
// process can be a server, or if there is no such process.
std::string_view why_no_server(int pid);

// Makes this process the parent of its orphans (PR_SET_CHILD_SUBREAPER) until the OrphansHere is destroyed. An orphan
// is a descendant whose own parent has ended. An orphan that has ended stays a zombie until its new parent waits for
// the orphan (waitpid(2)). This process waits for the ended orphans of its servers. Without the OrphansHere, the new
// parent would be another process, for example the first process of a container. That process might never wait for the
// orphan. The server would then never count as ended, because ServerProcess::is_gone() counts zombies in the server's
// process group as running.
class OrphansHere {
 public:
  OrphansHere();
  ~OrphansHere();
  OrphansHere(const OrphansHere&) = delete;
  OrphansHere& operator=(const OrphansHere&) = delete;

 private:
  int before_ = 0;
};

// Returns 127.0.0.1 without a port. Servers listen at this address unless another one is given.
SocketAddress loopback_host();
// Returns the IP address in `address` as text, without port and brackets.
std::string host_of(const SocketAddress& address);

class ServerProcess {
 public:
  // Starts a server by the command `words`. The server has to listen at the address that start() chooses: a free port
  // of the IP address `host`. Before the start, these placeholders in `words` are replaced:
  // - {listen} by the chosen address, with its port
  // - {host} by the IP address without port and brackets
  // - {port} by the port
  // - {threads} by `threads`
  // Asserts that a word contains {listen} or {port}. The server may run only on the CPUs `cpus`. If `cpus` is empty,
  // the server may run on the same CPUs as the calling thread. The error is one sentence.
  static std::expected<std::unique_ptr<ServerProcess>, std::string> start(Loop& loop,
                                                                          const std::vector<std::string>& words,
                                                                          size_t threads, const std::vector<int>& cpus,
                                                                          const SocketAddress& host = loopback_host());
  // Kills the processes of the server's process group that still run. Also kills the server's first process, even if
  // this process has left the group. Waits for the killed processes that are children of this process.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  int pid() const { return pid_; }
  const SocketAddress& address() const { return address_; }
  // Returns whether `child` is the pid of the server's first process or of the server's guard. The guard is a child
  // process that ends the server's process group if this process ends (GroupGuard).
  bool is_mine(int child) const { return child == pid_ || child == guard_.pid(); }
  // Returns whether the server has started `process`, directly or through other processes. One of these signs is
  // enough:
  // - The process is in the server's process group.
  // - The environment of the process contains the variable PEAL_DUEL_SERVER with the value that the duel gave this
  //   server.
  bool has_started(int process) const;
  // Returns whether the server is ready. Each call opens a test connection to the server and closes the connection
  // immediately, until one of the connections has succeeded. The server is ready if both of these are true:
  // - A test connection has succeeded.
  // - The server has printed "listening on", or 50 ms have passed since the successful test connection. This wait is
  //   for servers that never print these words: a server may accept connections while it still starts threads.
  bool listens(TimePoint now);
  // Returns how the server ended, for example "exit code 3 (no such file)". The text in parentheses is the first line
  // of the server's stderr. Returns nothing while the server runs.
  std::optional<std::string> ended();
  // Returns whether the server and all other processes of its process group have ended. Also reaps ended processes of
  // the group that are children of this process (waitpid(2)), so they do not stay zombies.
  bool is_gone();
  // Sends SIGTERM to all processes of the server's process group.
  void ask_to_end();

 private:
  ServerProcess(Loop& loop, int pid, std::string mark, SocketAddress address, Fd port_claim, Fd output, Fd complaints);

  int pid_;
  std::string mark_;  // the NAME=VALUE in the server's environment
  GroupGuard guard_;
  SocketAddress address_;
  Fd port_claim_;  // keeps other test harnesses from using this port
  KeptOutput output_;
  KeptOutput complaints_;
  std::optional<TimePoint> accepted_at_;
  std::optional<int> status_;  // as waitpid(2) returned it
};

// Returns whether a command tells the server where to listen: one of its words contains {listen} or {port}. The
// placeholder {host} is not enough, because the server must also know the port that was chosen for it.
bool tells_where(const std::vector<std::string>& words);

}  // namespace peal::load
