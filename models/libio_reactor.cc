// SPDX-License-Identifier: BSD-3-Clause
// libio_reactor (libio's reactor): one event loop that works with every poller.
//
//   select │ poll │ epoll          ReadyPoller: which fds are ready          (common/reactor/ready_poller.h)
//        ──> the reactor           calls the handler of each                 (common/reactor/poller_reactor.h)
//              ├──> the listener's handler: accepts all who wait, registers a handler for each
//              └──> a connection's handler: read ─> frames ─> work ─> write  (common/reactor/polled_echo.h)
//
// One thread accepts, reads, computes and writes, in the handlers. A request that computes or sleeps delays every other
// connection. reactor_select, reactor_poll and reactor_epoll are models without these layers. The layers cost a look-up
// in a table by fd and a virtual call for each ready socket. Their advantage is that the rest of the program does not
// depend on the poller. The poller sets the limits: with select, a connection whose fd is 1024 or more is refused.
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
