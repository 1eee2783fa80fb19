// SPDX-License-Identifier: BSD-3-Clause
// reactor_epoll (EpollReactorSingleProcess): one thread serves everybody, and blocks nowhere but in epoll_wait(2).
//
//                ┌─ listener: accept, register ────────────────────────┐
//   epoll_wait ──┼─ connection readable: read ─> frames ─> work ─> write ──> epoll_wait
//                └─ connection writable: write what was left ──────────┘
//
// Who accepts, reads, computes and writes: the one thread; work never changes hands. The epoll keeps the list of
// sockets in the kernel, so a wait costs what is ready, not what is open. Level-triggered: what is not read now is
// reported again, so one read a readiness is enough, and the next client has its turn. The answer is written at once;
// only what the socket does not take makes the reactor ask for writability (--write epollout asks every time, and pays
// two epoll_ctl(2) a request for it).
//
// What it cannot do: use a second CPU, or serve anybody while a request computes. The loop is in
// common/epoll_reactor.cc, the service of a connection in common/echo_connection.cc.
#include <models/common/reactor/epoll_reactor.h>
#include <models/models.h>

namespace peal::models {

Result<void> reactor_epoll(ModelRun& run) {
  auto reactor = EpollReactor::make(run.options, run.stop, run.statistics);
  if (!reactor) return std::unexpected(reactor.error());
  if (auto listening = (*reactor)->listen(run.listener.get()); !listening) return listening;
  return (*reactor)->run();
}

}  // namespace peal::models
