// SPDX-License-Identifier: BSD-3-Clause
// blocking_process_pool_one_listener (ProcessPool1): a fixed number of processes, forked before the first client
// connects. Each process serves one client at a time.
//
//              ┌──> worker 0:    accept ─> read ─> frames ─> work ─> write ─> ... until the client ends ─> the next
//   listener ──┤    ...
//              └──> worker n-1:  the same                              master: respawns who died, ends all
//
// Each worker accepts, reads, computes and writes, in blocking calls. All workers block in accept on the same inherited
// listener, and the kernel wakes one of them for each connection. A connection never moves to another process. If a
// worker crashes, only the client that it serves is lost.
//
// With n workers, the service handles n clients at a time. The next client waits in the backlog until a worker is free,
// so n silent clients block the service.
#include <models/common/blocking_service.h>
#include <models/common/workers/worker_processes.h>
#include <models/models.h>

namespace peal::models {

Result<void> blocking_process_pool_one_listener(ModelRun& run) {
  return run_worker_processes(run, run.options.workers, WorkerEnd::kBySignal, [&](const WorkerStart&) -> Result<void> {
    serve_one_after_another(run.listener.get(), run);
    return fail(EINVAL);  // accept failed, although no code shuts the listener down
  });
}

}  // namespace peal::models
