// SPDX-License-Identifier: BSD-3-Clause
// ServersHere: the servers that a duel has started on this machine for one restart. Use it on the loop's thread only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <load/duel/duel_loop.h>
#include <load/duel/server_crew.h>
#include <load/duel/server_orphans.h>
#include <load/duel/server_process.h>

namespace peal::load {

// Options that apply to all servers of a crew. A crew is a set of servers that run at the same time, for at most one
// restart of the duel.
struct CrewOptions {
  size_t places = 0;
  size_t threads = 1;     // the value of {threads}
  std::vector<int> cpus;  // the CPUs that the servers share; empty: those of this thread
  SocketAddress host = loopback_host();
};

class ServersHere final : public ServerCrew {
 public:
  ServersHere(DuelLoop& loop, CrewOptions options);
  ~ServersHere() override = default;
  ServersHere(const ServersHere&) = delete;
  ServersHere& operator=(const ServersHere&) = delete;

  Trouble start(size_t place, const std::vector<std::string>& words) override;
  bool has(size_t place) const override { return servers_[place] != nullptr; }
  const SocketAddress& address(size_t place) const override { return servers_[place]->address(); }
  Trouble await_listening(Duration patience) override;
  Trouble who_ended() override;
  std::expected<ServerLook, ServerFault> look(size_t place) override;
  std::vector<size_t> who_left_orphans() override;
  void end(Duration patience) override;

  // Returns whether await_listening() has succeeded for the server of contender number `place`. Only then may look() be
  // called for this server.
  bool is_awaited(size_t place) const { return probes_[place].has_value(); }

 private:
  Trouble find_clocks();

  DuelLoop& loop_;
  const CrewOptions options_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::vector<std::optional<ServerProbe>> probes_;  // set when all servers listen
  ServerOrphans orphans_{servers_};
};

}  // namespace peal::load
