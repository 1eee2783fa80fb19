// SPDX-License-Identifier: BSD-3-Clause
// ServersThere: the servers that a duel starts on another machine. An agent on that machine controls them. A duel is a
// comparison of servers under load. It starts its servers several times; a ServersThere is used for one of these times.
// PlaceThere: the other machine. The load generator runs on this machine. Use both on the thread of the duel's loop.
//
// The duel measures in slices of time. Between two slices, it asks the agent for the server's CPU time and waits for
// the answer. Usually every message was answered by then, so no server has work. The wait then does not change the
// results.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <load/duel/server_place.h>
#include <load/remote/agent_link.h>

namespace peal::load {

class ServersThere final : public ServerCrew {
 public:
  // `link` must outlive this object. `crew` is a request to the agent. By this request, the agent makes a crew, which
  // is a set of servers. The constructor sends nothing. The first call of start() sends `crew` to the agent.
  ServersThere(AgentLink& link, AgentRequest crew);

  Trouble start(size_t place, const std::vector<std::string>& words) override;
  bool has(size_t place) const override { return addresses_[place].is_set(); }
  const SocketAddress& address(size_t place) const override { return addresses_[place]; }
  Trouble await_listening(Duration patience) override;
  Trouble who_ended() override;
  std::expected<ServerLook, ServerFault> look(size_t place) override;
  std::vector<size_t> who_left_orphans() override;
  void end(Duration patience) override;

 private:
  Trouble do_there(const AgentRequest& request);
  bool has_any() const;

  AgentLink& link_;
  const AgentRequest crew_;
  bool is_made_ = false;
  std::vector<SocketAddress> addresses_;  // unset if the place has no server
};

class PlaceThere final : public ServerPlace {
 public:
  // The servers will listen at `address`. `began` holds the CPU clocks of the servers' machine, as they were before the
  // first server was started.
  PlaceThere(std::unique_ptr<AgentLink> link, const SocketAddress& address, const MachineClocks& began);

  CpuPins pins(const DuelOptions& options) override;
  std::unique_ptr<ServerCrew> crew(const DuelOptions& options, const CpuPins& pins) override;
  std::expected<std::optional<ServerHost>, std::string> host() override;

 private:
  const std::unique_ptr<AgentLink> link_;
  const SocketAddress address_;
  const MachineClocks began_;
  const bool is_here_;  // true if the other machine is in fact this one, for example a container
};

// Returns a function that makes a PlaceThere for a duel (a comparison of servers). The function starts the agent on the
// machine `host`. The duel uses the PlaceThere to start its servers on that machine.
PlaceMaker place_there(RemoteHost host);

}  // namespace peal::load
