// SPDX-License-Identifier: BSD-3-Clause
// ServerCrew: servers that a duel starts at the same time: those of one restart, or of one contender if contenders are
// measured one at a time (--in-turn). A server's place is the index of its contender. The crew is the only interface
// between a duel and the machine of the servers. ServersHere runs the servers on this machine, ServersThere
// (load/remote/) on another one. Use a crew on the thread of the duel's loop. Functions that wait run that loop
// meanwhile.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <load/server_probe.h>
#include <peal/base/clock.h>
#include <peal/base/socket_address.h>

namespace peal::load {

// An error that concerns a server, described in one sentence.
struct ServerFault {
  // The index of the contender whose server has the error. Unset if the error concerns the whole machine of the
  // servers, or the connection to that machine.
  std::optional<size_t> place;
  std::string sentence;

  bool operator==(const ServerFault&) const = default;
};

class ServerCrew {
 public:
  using Trouble = std::optional<ServerFault>;

  // Kills the servers that still run, if they run on this machine (ServersHere). Servers on another machine
  // (ServersThere) are started by an agent, which is a program on that machine. When the agent ends, it ends these
  // servers.
  virtual ~ServerCrew() = default;

  // Starts the server of contender number `place`. This contender must not have a server yet. `words` are the program
  // and its arguments. They contain {listen} or {port}; the crew replaces these by an address that it chooses.
  virtual Trouble start(size_t place, const std::vector<std::string>& words) = 0;
  virtual bool has(size_t place) const = 0;
  // Returns the address of the server of contender number `place`. That server must have been started.
  virtual const SocketAddress& address(size_t place) const = 0;
  // Waits until all started servers accept connections, but at most `patience`. Returns nothing if all servers accept
  // connections. Otherwise returns the first error, for example that a server has ended.
  // If the duel is stopped during the wait, ServersHere stops waiting. It returns nothing, unless a server has ended:
  // the stop is no error, because the caller itself checks whether the duel was stopped. ServersThere continues to
  // wait, because the agent is not told that the duel was stopped.
  virtual Trouble await_listening(Duration patience) = 0;
  // Checks whether a server has ended by itself. Returns an error about the first such server, or nothing if all
  // servers still run.
  virtual Trouble who_ended() = 0;
  // Measures the CPU time, memory and context switches of a server and its descendants. Call look() only after
  // await_listening() has succeeded for this server. ServerLook::at is a time on the clock of the server's machine.
  virtual std::expected<ServerLook, ServerFault> look(size_t place) = 0;
  // Returns the indices of the contenders whose servers have orphans. An orphan is a process that a server has started
  // and that still runs after its parent has ended. CPU time of orphans may be missing in the results of look().
  virtual std::vector<size_t> who_left_orphans() = 0;
  // Ends all servers and their orphans, even if the duel was stopped. An orphan is a process that a server has started
  // and whose parent has ended. First sends SIGTERM to all of them and waits at most `patience` for the servers. After
  // that, kills the orphans that still run.
  // A server that still runs after the wait is killed by the destructor of ServersHere. On another machine, the agent
  // destroys its ServersHere immediately after the wait.
  virtual void end(Duration patience) = 0;
};

}  // namespace peal::load
