// SPDX-License-Identifier: BSD-3-Clause
// reactor_thread_pool (EpollReactorThreadPool): reactor_epoll as often as there are threads.
//
//                 ┌ listener 0 ──> thread 0:    epoll_wait ─> accept, read ─> frames ─> work ─> write
//   kernel: hash ─┤ ...
//                 └ listener n-1 ──> thread n-1: the same
//
// Who accepts, reads, computes and writes: the thread whose listener the kernel chose (SO_REUSEPORT, by a hash of the
// addresses and ports). Work never changes hands, and the threads share nothing that a request touches: no lock, no
// queue, no epoll.
//
// What it cannot do: even out. A hash spreads a thousand connections well and four badly, and a connection stays where
// it fell, even beside an idle thread; while a request computes, the others of its thread wait.
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
