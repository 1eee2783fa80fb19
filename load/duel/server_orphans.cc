// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/server_orphans.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include <load/process_files.h>

namespace peal::load {
namespace {

bool holds(const std::vector<int>& pids, int pid) { return std::ranges::find(pids, pid) != pids.end(); }

}  // namespace

ServerOrphans::ServerOrphans(const std::vector<std::unique_ptr<ServerProcess>>& servers)
    : servers_(servers), children_before_(ChildFinder().children_of(::getpid())) {}

std::vector<int> ServerOrphans::find() {
  std::vector<int> children = ChildFinder().children_of(::getpid());
  std::erase_if(children, [this](int child) {
    if (holds(known_, child)) return false;
    const auto is_mine = [child](const auto& server) { return server && server->is_mine(child); };
    const auto is_its = [child](const auto& server) { return server && server->has_started(child); };
    return holds(children_before_, child) || std::ranges::any_of(servers_, is_mine) ||
           std::ranges::none_of(servers_, is_its);
  });
  return known_ = children;
}

void ServerOrphans::end() {
  for (std::vector<int> left = find(); !left.empty(); left = find()) {
    for (const int orphan : left) ::kill(orphan, SIGKILL);
    for (const int orphan : left) ::waitpid(orphan, nullptr, 0);
    known_.clear();  // other processes may get these pids from now on
  }
}

}  // namespace peal::load
