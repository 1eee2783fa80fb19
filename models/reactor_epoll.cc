// SPDX-License-Identifier: BSD-3-Clause
// reactor_epoll (EpollReactorSingleProcess): one thread serves all clients, and blocks only in epoll_wait(2).
//
//                ┌─ listener: accept, register ────────────────────────┐
//   epoll_wait ──┼─ connection readable: read ─> frames ─> work ─> write ──> epoll_wait
//                └─ connection writable: write what was left ──────────┘
//
// One thread accepts, reads, computes and writes. The kernel keeps the list of sockets, so the cost of a wait depends
// on how many sockets are ready, not on how many are open. The epoll is level-triggered: bytes that are not read now
// are reported again. So the reactor reads once when a socket is ready, and then serves the next client. The answer is
// written immediately. The reactor waits until the socket is writable only if a part of the answer is left. With
// --write epollout it always waits first, which costs two epoll_ctl(2) for each request.
//
// Limits: the model uses only one CPU, and serves no other client while a request computes. The loop is in
// common/reactor/epoll_reactor.cc, the service of a connection in common/echo/echo_connection.cc.
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
