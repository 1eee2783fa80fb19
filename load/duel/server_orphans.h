// SPDX-License-Identifier: BSD-3-Clause
// ServerOrphans: what the servers of a restart have started and left to itself. It has fallen to this process
// (OrphansHere), as have others' orphans, which are nobody's business here. One thread.
#pragma once

#include <memory>
#include <vector>

#include <load/duel/server_process.h>

namespace peal::load {

class ServerOrphans {
 public:
  // Before any of them is started. Borrowed; a contender each, none: it runs already.
  explicit ServerOrphans(const std::vector<std::unique_ptr<ServerProcess>>& servers);

  // Those of now, zombies among them.
  std::vector<int> find();
  // SIGKILL, until none is left: what one of them had started falls to this process when that one ends.
  void end();

 private:
  const std::vector<std::unique_ptr<ServerProcess>>& servers_;
  const std::vector<int> children_before_;
  std::vector<int> known_;  // one that has ended shows no more whose it was
};

}  // namespace peal::load
