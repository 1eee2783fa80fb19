// SPDX-License-Identifier: BSD-3-Clause
// blocking_process_pool_own_listeners (ProcessPool2): a pool of processes, each with its own listener.
//
//                 ┌ listener 0 ──> worker 0:    accept ─> read ─> frames ─> work ─> write ─> ... ─> the next
//   kernel: hash ─┤ ...
//                 └ listener n-1 ──> worker n-1: the same              master: respawns who died, ends all
//
// Each worker accepts, reads, computes and writes, in blocking calls. The kernel chooses the listener of a connection
// by a hash of the addresses and ports (SO_REUSEPORT). A connection never moves to another process. The master opens
// the listeners and keeps them open. If a worker dies, the clients in its backlog therefore wait for the worker that
// replaces it.
//
// With n workers, the service handles at most n clients at a time. A client whose listener belongs to a busy worker
// waits for that worker, even if other workers are idle. Such waits raise the high percentiles of the latency.
#include <vector>

#include <models/common/blocking_service.h>
#include <models/common/plain_sockets.h>
#include <models/common/workers/worker_processes.h>
#include <models/models.h>

namespace peal::models {

Result<void> blocking_process_pool_own_listeners(ModelRun& run) {
  const Result<std::vector<Fd>> listeners =
      share_listening(std::move(run.listener), run.options.workers, Blocking::kYes);
  if (!listeners) return std::unexpected(listeners.error());
  return run_worker_processes(run, listeners->size(), WorkerEnd::kBySignal,
                              [&](const WorkerStart& worker) -> Result<void> {
                                serve_one_after_another((*listeners)[worker.index].get(), run);
                                return fail(EINVAL);  // accept failed, although no code shuts the listener down
                              });
}

}  // namespace peal::models
