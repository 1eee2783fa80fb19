// SPDX-License-Identifier: BSD-3-Clause
// libio_reactor (libio's reactor): one event loop that does not care what it waits with.
//
//   select │ poll │ epoll          ReadyPoller: which fds are ready          (common/ready_poller.h)
//        ──> the reactor           calls the handler of each                 (common/poller_reactor.h)
//              ├──> the listener's handler: accepts all who wait, registers a handler for each
//              └──> a connection's handler: read ─> frames ─> work ─> write  (common/polled_echo.h)
//
// Who accepts, reads, computes and writes: the one thread, in the handlers. Work never changes hands: a request that
// computes or sleeps holds up every other connection. What the layers cost beside the reactors written out
// (reactor_select, reactor_poll, reactor_epoll) is a table by fd and a virtual call for each readiness; what they buy
// is that the rest of the program does not know which poller it has. The poller decides what cannot be: over select
// no connection whose fd is 1024 or more is served; it is refused.
#include <models/common/reactor/polled_echo.h>
#include <models/models.h>

namespace peal::models {

Result<void> libio_reactor(ModelRun& run) {
  Result<std::unique_ptr<PollerReactor>> reactor = PollerReactor::make(run.options.poller, run.options.events_per_wait);
  if (!reactor) return std::unexpected(reactor.error());
  PolledEcho echo(run.options, run.statistics, **reactor);
  if (Result<void> done = echo.stop_with(run.stop); !done) return done;
  if (Result<void> done = echo.listen(run.listener.get()); !done) return done;
  return echo.run();
}

}  // namespace peal::models
