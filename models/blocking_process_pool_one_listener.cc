// SPDX-License-Identifier: BSD-3-Clause
// blocking_process_pool_one_listener (ProcessPool1): as many processes as clients may be served at a time, forked
// before the first client comes.
//
//              ┌──> worker 0:    accept ─> read ─> frames ─> work ─> write ─> ... until the client ends ─> the next
//   listener ──┤    ...
//              └──> worker n-1:  the same                              master: respawns who died, ends all
//
// Who accepts, reads, computes and writes: a worker, in blocking calls. All of them sleep in accept on the listener
// they inherited; the kernel wakes one for each connection. Work never changes hands. A crash costs one client, not
// all. It serves n clients at a time; the n+1st waits in the backlog until any worker is free. n silent clients stop
// it.
#include <models/common/blocking_service.h>
#include <models/common/workers/worker_processes.h>
#include <models/models.h>

namespace peal::models {

Result<void> blocking_process_pool_one_listener(ModelRun& run) {
  return run_worker_processes(run, run.options.workers, WorkerEnd::kBySignal, [&](const WorkerStart&) -> Result<void> {
    serve_one_after_another(run.listener.get(), run);
    return fail(EINVAL);  // a listener that nobody shuts down has ended
  });
}

}  // namespace peal::models
