// SPDX-License-Identifier: BSD-3-Clause
// libio_master_workers (libio's master and workers): processes in nginx's manner.
//
//   master:          binds and listens, forks, then minds the signals and the dead; serves nobody
//     ├─ worker 0:   epoll_wait ─> accept one │ read ─> frames ─> work ─> write
//     ├─ worker 1:   epoll_wait ─> accept one │ ...            all on the one listener they inherited
//     └─ worker n-1: ...
//
// Who accepts: the workers, each from its own epoll, which the shared listener is in (EPOLLEXCLUSIVE: a connection
// wakes one of them, not all), and one connection a readiness, as nginx does, so that a burst spreads. Who reads,
// computes and writes: the worker that accepted, for as long as the connection lasts. Work never changes hands.
// Processes share nothing but the listener: one that dies takes its own connections along and no others, and the
// master starts another in its place. What it cannot do is balance: whoever waits is woken, busy or not, and a
// connection never moves to a worker that has less to do.
#include <models/common/reactor/epoll_reactor.h>
#include <models/common/workers/worker_processes.h>
#include <models/models.h>

namespace peal::models {

Result<void> libio_master_workers(ModelRun& run) {
  ModelOptions options = run.options;
  options.loop_accept = false;
  return run_worker_processes(run, options.workers, WorkerEnd::kByStop, [&](const WorkerStart&) -> Result<void> {
    Result<Stop> stop = Stop::make();
    if (!stop) return std::unexpected(stop.error());
    Result<std::unique_ptr<EpollReactor>> reactor = EpollReactor::make(options, *stop, run.statistics);
    if (!reactor) return std::unexpected(reactor.error());
    if (Result<void> done = (*reactor)->listen(run.listener.get()); !done) return done;
    return (*reactor)->run();
  });
}

}  // namespace peal::models
