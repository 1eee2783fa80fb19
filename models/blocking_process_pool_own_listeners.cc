// SPDX-License-Identifier: BSD-3-Clause
// blocking_process_pool_own_listeners (ProcessPool2): a pool of processes in which nobody waits at the same door.
//
//                 ┌ listener 0 ──> worker 0:    accept ─> read ─> frames ─> work ─> write ─> ... ─> the next
//   kernel: hash ─┤ ...
//                 └ listener n-1 ──> worker n-1: the same              master: respawns who died, ends all
//
// Who accepts, reads, computes and writes: the worker whose listener the kernel chose (SO_REUSEPORT, by a hash of the
// addresses and ports), in blocking calls. Work never changes hands. The master opens the listeners and keeps them: who
// waits at the door of a worker that died waits for the one that takes its place.
// It serves n clients at a time at most. Whoever was hashed to a busy worker waits for that one, even if others are
// idle: that is what makes the slowest of its answers slow.
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
                                return fail(EINVAL);  // a listener that nobody shuts down has ended
                              });
}

}  // namespace peal::models
