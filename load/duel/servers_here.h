// SPDX-License-Identifier: BSD-3-Clause
// ServersHere: the servers of a restart on this machine. One thread, that of the loop.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <load/duel/duel_loop.h>
#include <load/duel/server_crew.h>
#include <load/duel/server_orphans.h>
#include <load/duel/server_process.h>

namespace peal::load {

// What is the same for all of them.
struct CrewOptions {
  size_t places = 0;
  size_t threads = 1;     // what {threads} says
  std::vector<int> cpus;  // those they share; none: where this thread may run
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

  // Whether it can be looked at.
  bool is_awaited(size_t place) const { return probes_[place].has_value(); }

 private:
  Trouble find_clocks();

  DuelLoop& loop_;
  const CrewOptions options_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::vector<std::optional<ServerProbe>> probes_;  // once all listen
  ServerOrphans orphans_{servers_};
};

}  // namespace peal::load
