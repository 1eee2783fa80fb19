// SPDX-License-Identifier: BSD-3-Clause
// libio_master_workers (libio's master and workers): processes in the manner of nginx.
//
//   master:          binds and listens, forks, then minds the signals and the dead; serves nobody
//     ├─ worker 0:   epoll_wait ─> accept one │ read ─> frames ─> work ─> write
//     ├─ worker 1:   epoll_wait ─> accept one │ ...            all on the one listener they inherited
//     └─ worker n-1: ...
//
// Each worker has the shared listener in its own epoll. A new connection wakes only one worker (EPOLLEXCLUSIVE). A
// worker accepts only one connection each time it wakes, as nginx does, so that a burst is spread over the workers. The
// worker that has accepted a connection reads, computes and writes for it until the connection ends.
//
// The processes share nothing except the listener. If a worker dies, only its own connections are lost, and the master
// starts another worker. Limits: the load is not balanced. The kernel may wake a worker that already has many
// connections, and a connection never moves to another worker.
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
