// SPDX-License-Identifier: BSD-3-Clause
// ServerOrphans: finds and ends the orphans of a restart's servers. Orphans are processes whose parents have ended.
// OrphansHere makes them children of this process. Orphans that no server has started are left alone. Use it on one
// thread only.
#pragma once

#include <memory>
#include <vector>

#include <load/duel/server_process.h>

namespace peal::load {

class ServerOrphans {
 public:
  // Construct a ServerOrphans before the servers start. Processes that are already children of this process at that
  // time never count as orphans, because none of the servers can have started them. `servers` has one entry per
  // contender. The entry is null if the duel has not started a server for the contender. `servers` must live longer
  // than the ServerOrphans.
  explicit ServerOrphans(const std::vector<std::unique_ptr<ServerProcess>>& servers);

  // Returns the process ids of the orphans. They were started by a server or by one of its descendants, and the process
  // that started them has ended. Orphans that have ended and become zombies are included, because end() must call
  // waitpid(2) for them.
  std::vector<int> find();
  // Kills all orphans. Repeats this until none is left, because children of a killed orphan become orphans too.
  void end();

 private:
  const std::vector<std::unique_ptr<ServerProcess>>& servers_;
  const std::vector<int> children_before_;
  // The process ids that the last call of find() returned. By this list, find() recognizes an orphan that has ended
  // since that call and is now a zombie. The environment of a zombie cannot be read, so find() may not see that a
  // server has started the zombie.
  std::vector<int> known_;
};

}  // namespace peal::load
