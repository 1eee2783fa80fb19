// SPDX-License-Identifier: BSD-3-Clause
// blocking_thread_pool_own_listeners (ThreadPool): the process pool with own listeners, with threads.
//
//                 ┌ listener 0 ──> thread 0:    accept ─> read ─> frames ─> work ─> write ─> ... ─> the next
//   kernel: hash ─┤ ...
//                 └ listener n-1 ──> thread n-1: the same
//
// Who accepts, reads, computes and writes: the thread whose listener the kernel chose (SO_REUSEPORT, by a hash of the
// addresses and ports), in blocking calls. Work never changes hands, and the threads share nothing but the process.
// It serves n clients at a time at most. Whoever was hashed to a busy thread waits for that one, even if others are
// idle: that is what makes the slowest of its answers slow.
#include <vector>

#include <models/common/blocking_service.h>
#include <models/common/plain_sockets.h>
#include <models/common/workers/worker_threads.h>
#include <models/models.h>

namespace peal::models {

Result<void> blocking_thread_pool_own_listeners(ModelRun& run) {
  Result<std::unique_ptr<BlockedThreads>> sleepers = BlockedThreads::start(run.stop);
  if (!sleepers) return std::unexpected(sleepers.error());
  const Result<std::vector<Fd>> listeners =
      share_listening(std::move(run.listener), run.options.workers, Blocking::kYes);
  if (!listeners) return std::unexpected(listeners.error());
  return run_worker_threads(listeners->size(), **sleepers, [&](size_t index) {
    const int listener = (*listeners)[index].get();
    const BlockedThreads::Place place(**sleepers, listener);
    serve_one_after_another(listener, run, sleepers->get());
  });
}

}  // namespace peal::models
