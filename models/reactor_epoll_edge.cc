// SPDX-License-Identifier: BSD-3-Clause
// reactor_epoll_edge (EpollReactorSingleProcessET): reactor_epoll, told only of what is new.
//
//   level:  "there is something to read", as long as there is          ──> one read is enough
//   edge:   "something came", once, when it comes                      ──> read until EAGAIN, or wait for ever
//
// Who accepts, reads, computes and writes: the one thread; work never changes hands. A socket is registered once for
// reading and writing and never changed again. In return every edge has to be used up: it reads until EAGAIN, which is
// a read more for every request, and after an unsent answer has left it reads without being told, because what came
// meanwhile had its edge already. Only somebody who sends without a pause is answered before EAGAIN, and registered
// again, which shows a new edge for what is left. The listener is level-triggered, so that --no-loop-accept is
// possible.
//
// What it cannot do: what reactor_epoll cannot; and it is not faster, as EAGAIN costs what the epoll_ctl(2) saves that
// reactor_epoll hardly makes. With --write epollout it has to register again for each change, as the level has.
#include <models/common/reactor/epoll_reactor.h>
#include <models/models.h>

namespace peal::models {

Result<void> reactor_epoll_edge(ModelRun& run) {
  ModelOptions options = run.options;
  options.read_until_empty = true;
  auto reactor = EpollReactor::make(options, run.stop, run.statistics, Edge::kTriggered);
  if (!reactor) return std::unexpected(reactor.error());
  if (auto listening = (*reactor)->listen(run.listener.get()); !listening) return listening;
  return (*reactor)->run();
}

}  // namespace peal::models
