// SPDX-License-Identifier: BSD-3-Clause
// reactor_thread_pool (EpollReactorThreadPool): several threads, each of which runs a reactor_epoll.
//
//                 ┌ listener 0 ──> thread 0:    epoll_wait ─> accept, read ─> frames ─> work ─> write
//   kernel: hash ─┤ ...
//                 └ listener n-1 ──> thread n-1: the same
//
// Each thread accepts, reads, computes and writes. The kernel chooses the listener of a connection by a hash of the
// addresses and ports (SO_REUSEPORT). A connection never moves to another thread. While they serve requests, the
// threads share no lock, no queue and no epoll.
//
// Limits: the load is not balanced. A hash spreads a thousand connections evenly, but four connections unevenly. A
// connection stays with its thread, even if another thread is idle. While a request computes, the other connections of
// its thread wait.
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <models/common/plain_sockets.h>
#include <models/common/reactor/epoll_reactor.h>
#include <models/common/workers/run_together.h>
#include <models/models.h>

namespace peal::models {

Result<void> reactor_thread_pool(ModelRun& run) {
  const Result<std::vector<Fd>> listeners =
      share_listening(std::move(run.listener), run.options.workers, Blocking::kNo);
  if (!listeners) return std::unexpected(listeners.error());
  std::vector<std::unique_ptr<EpollReactor>> reactors;
  std::vector<ThreadRole> roles;
  for (const Fd& listener : *listeners) {
    auto reactor = EpollReactor::make(run.options, run.stop, run.statistics);
    if (!reactor) return std::unexpected(reactor.error());
    if (auto listening = (*reactor)->listen(listener.get()); !listening) return listening;
    roles.push_back({fmt::format("reactor {}", roles.size()), [own = reactor->get()] { return own->run(); }});
    reactors.push_back(std::move(*reactor));
  }
  return run_together(roles);
}

}  // namespace peal::models
