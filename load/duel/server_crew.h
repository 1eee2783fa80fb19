// SPDX-License-Identifier: BSD-3-Clause
// ServerCrew: the servers that a duel starts for one restart, a place for each contender, and what is asked of them.
// The one seam between a duel and the machine where they run: ServersHere on this one, ServersThere (load/remote/) on
// another. One thread, that of the duel's loop, which is turned while one of these waits.
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

// What went wrong with a server, as one sentence.
struct ServerFault {
  std::optional<size_t> place;  // whose; none: the fault is with the machine where they run, or the way to it
  std::string sentence;

  bool operator==(const ServerFault&) const = default;
};

class ServerCrew {
 public:
  using Trouble = std::optional<ServerFault>;

  // Whoever is left is ended by force.
  virtual ~ServerCrew() = default;

  // Starts a program at a place where none is. Its words hold {listen} or {port}: where depends on the crew.
  virtual Trouble start(size_t place, const std::vector<std::string>& words) = 0;
  virtual bool has(size_t place) const = 0;
  // Of a place that has a server.
  virtual const SocketAddress& address(size_t place) const = 0;
  // Until all that were started accept connections. None, too, when the loop was stopped meanwhile.
  virtual Trouble await_listening(Duration patience) = 0;
  // The first that has ended by itself.
  virtual Trouble who_ended() = 0;
  // Of a place that has a server, once it listens: the CPU time of it and its descendants, and what else is known.
  // ServerLook::at is of the clock of the machine where it runs.
  virtual std::expected<ServerLook, ServerFault> look(size_t place) = 0;
  // Whose processes were left to themselves by their parents: their CPU time is in nobody's account.
  virtual std::vector<size_t> who_left_orphans() = 0;
  // All of them, and what they have left: asked, and after so long by force. Whether the loop was stopped or not.
  virtual void end(Duration patience) = 0;
};

}  // namespace peal::load
