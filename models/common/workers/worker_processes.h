// SPDX-License-Identifier: BSD-3-Clause
// WorkerProcesses: a master that forks workers, minds the signals and the dead, and serves nobody itself.
//
//   master ── fork ──> worker 0 .. n-1, each runs `work` until it returns or is ended
//      │  sleeps in sigtimedwait: SIGCHLD: reap, start another in its place (with a growing pause if it died at once)
//      └─ SIGTERM, SIGINT: SIGTERM to all, then SIGKILL to who is still there, reap all, return
//
// The master has one thread. A worker dies with its master, however that ends (PR_SET_PDEATHSIG); what a worker forks
// itself becomes the master's (PR_SET_CHILD_SUBREAPER) when the worker ends, and is reaped too.
#pragma once

#include <sys/types.h>

#include <functional>

#include <models/model_table.h>

namespace peal::models {

// What a worker finds when it begins.
struct WorkerStart {
  size_t index;  // 0 .. n-1; who takes a place takes its index
  // For a worker that ends slowly, once: another is started in its place now, and it goes on beside that one until it
  // returns, or is ended with all the others.
  std::function<void()> make_room;
};

// How a worker is ended.
enum class WorkerEnd : uint8_t {
  // SIGTERM does as it does to any process: for workers that sleep in blocking calls. SIGINT, which a terminal sends to
  // all of them, is ignored: the master hears it too.
  kBySignal,
  kByStop,  // SIGTERM stays blocked; the worker makes a Stop of its own, waits for its fd too, and returns
};

// Runs `work` in `count` processes until SIGTERM or SIGINT. Errors: those of fork(2), of the first workers only.
// `work` returns what the worker failed with: it is logged, and the worker respawned; a success means it made room for
// a fresh one and is respawned at once.
Result<void> run_worker_processes(ModelRun& run, size_t count, WorkerEnd end,
                                  const std::function<Result<void>(const WorkerStart&)>& work);

// For a child, right after fork(2): it is killed when the thread of `parent` that forked it ends, and leaves at once if
// that has happened already. What a worker forks calls it, so that it ends with the worker.
void die_with_parent(pid_t parent);

}  // namespace peal::models
