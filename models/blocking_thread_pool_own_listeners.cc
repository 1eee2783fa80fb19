// SPDX-License-Identifier: BSD-3-Clause
// blocking_thread_pool_own_listeners (ThreadPool): a pool of threads, each with its own listener. It is
// blocking_process_pool_own_listeners with threads instead of processes.
//
//                 ┌ listener 0 ──> thread 0:    accept ─> read ─> frames ─> work ─> write ─> ... ─> the next
//   kernel: hash ─┤ ...
//                 └ listener n-1 ──> thread n-1: the same
//
// Each thread accepts, reads, computes and writes, in blocking calls. The kernel chooses the listener of a connection
// by a hash of the addresses and ports (SO_REUSEPORT). A connection never moves to another thread. The threads share
// nothing except the process.
//
// With n threads, the service handles at most n clients at a time. A client whose listener belongs to a busy thread
// waits for that thread, even if other threads are idle. Such waits raise the high percentiles of the latency.
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
