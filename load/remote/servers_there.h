// SPDX-License-Identifier: BSD-3-Clause
// ServersThere: the servers of a restart on another machine, through the agent there; and PlaceThere, that machine. The
// generator stays here, on CPUs of its own. One thread, that of the duel's loop.
//
// A slice is over when all its answers are here, and the next begins when the agent has said what it cost: the way
// there and back costs time between two slices, in which nobody has work to do, and nothing of what is measured.
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
  // `link` outlives it; `crew` is the request that makes the crew there, with the first start().
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
  std::vector<SocketAddress> addresses_;  // not set: no server
};

class PlaceThere final : public ServerPlace {
 public:
  // `address` is where servers listen, `began` what the clocks there showed before the first of them.
  PlaceThere(std::unique_ptr<AgentLink> link, const SocketAddress& address, const MachineClocks& began);

  CpuPins pins(const DuelOptions& options) override;
  std::unique_ptr<ServerCrew> crew(const DuelOptions& options, const CpuPins& pins) override;
  std::expected<std::optional<ServerHost>, std::string> host() override;

 private:
  const std::unique_ptr<AgentLink> link_;
  const SocketAddress address_;
  const MachineClocks began_;
  const bool is_here_;  // it is this machine all the same: a container, a namespace
};

// The place that `host` is.
PlaceMaker place_there(RemoteHost host);

}  // namespace peal::load
