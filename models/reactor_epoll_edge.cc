// SPDX-License-Identifier: BSD-3-Clause
// reactor_epoll_edge (EpollReactorSingleProcessET): reactor_epoll with edge-triggered events, which report only new
// bytes or new room.
//
//   level:  "there is something to read", as long as there is          ──> one read is enough
//   edge:   "something came", once, when it comes                      ──> read until EAGAIN, or wait for ever
//
// One thread accepts, reads, computes and writes. A socket is registered once, for reading and writing, and the
// registration does not change. In return, the reactor must not lose an edge:
// - The reactor reads until EAGAIN, which costs one more read for every request.
// - When the rest of an answer has been sent, the reactor reads without waiting for an event. Bytes may have arrived
//   while it was sending, and their edge was ignored.
// - A client that sends without a pause is answered before EAGAIN. Then its socket is registered again, which makes
//   epoll report a new edge for the unread bytes.
//
// The listener is level-triggered. With --no-loop-accept, connections that were not accepted are therefore reported
// again.
//
// Limits: those of reactor_epoll. Edge-triggered events are not faster, either. They save the epoll_ctl(2) calls, of
// which reactor_epoll makes hardly any, and cost one more read per request. With --write epollout, the model registers
// each change, as reactor_epoll does.
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
