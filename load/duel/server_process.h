// SPDX-License-Identifier: BSD-3-Clause
// ServerProcess: a server that a duel starts and ends, with a process group of its own. One thread, that of the loop.
//
// It has nothing on stdin. What it prints is read, so that it never waits for a reader, and thrown away but for the
// beginning. It gets SIGTERM when the thread that started it ends, and its group when this process ends.
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

// What comes out of a pipe, for as long as somebody writes: the beginning is kept.
class KeptOutput {
 public:
  KeptOutput(Loop& loop, Fd pipe);

  // What is there by now.
  const std::string& text();

 private:
  void read();

  std::string text_;
  Watch watch_;
};

// Why a process that runs already cannot be the server it is said to be; empty: it may be one.
std::string_view why_no_server(int pid);

// While it lives, what outlives the process that started it falls to this process, not to one that may never wait for
// it: a server is gone when all its workers are, and a worker that nobody waits for never goes.
class OrphansHere {
 public:
  OrphansHere();
  ~OrphansHere();
  OrphansHere(const OrphansHere&) = delete;
  OrphansHere& operator=(const OrphansHere&) = delete;

 private:
  int before_ = 0;
};

// Where servers listen unless another address of this machine is given.
SocketAddress loopback_host();
// An IP address as text, without its port.
std::string host_of(const SocketAddress& address);

class ServerProcess {
 public:
  // `words`: {listen}, {host}, {port} and {threads} are filled in; the port, at the IP address `host`, is one that
  // nobody listens on. The error is one sentence.
  static std::expected<std::unique_ptr<ServerProcess>, std::string> start(Loop& loop,
                                                                          const std::vector<std::string>& words,
                                                                          size_t threads, const std::vector<int>& cpus,
                                                                          const SocketAddress& host = loopback_host());
  // By force, if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  int pid() const { return pid_; }
  const SocketAddress& address() const { return address_; }
  // Whether this process made that child for it: its first process, or its guard.
  bool is_mine(int child) const { return child == pid_ || child == guard_.pid(); }
  // Whether that process comes of it: it is in its group, or has what only its descendants have in their environment
  // (PEAL_DUEL_SERVER). Who has left both is not known.
  bool has_started(int process) const;
  // Whether connections are accepted and, where it says so, it has said that it listens. Knocks, and hangs up.
  bool listens(TimePoint now);
  // How it ended, in a few words, with the first line of its complaints; nothing while it runs.
  std::optional<std::string> ended();
  // Whether it has ended, and nobody of its group is left. Waits for those that fell to this process: OrphansHere.
  bool is_gone();
  // SIGTERM, to the whole group.
  void ask_to_end();

 private:
  ServerProcess(Loop& loop, int pid, std::string mark, SocketAddress address, Fd port_claim, Fd output, Fd complaints);

  int pid_;
  std::string mark_;  // the word in its environment
  GroupGuard guard_;
  SocketAddress address_;
  Fd port_claim_;  // keeps other harnesses from its port
  KeptOutput output_;
  KeptOutput complaints_;
  std::optional<TimePoint> accepted_at_;
  std::optional<int> status_;  // as waitpid() shows it
};

// Whether a word of a command says where to listen.
bool tells_where(const std::vector<std::string>& words);

}  // namespace peal::load
