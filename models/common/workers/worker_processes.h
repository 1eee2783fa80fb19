// SPDX-License-Identifier: BSD-3-Clause
// run_worker_processes() makes this process a master, which forks workers, handles the signals, and replaces workers
// that have died. The master itself serves no client.
//
//   master ── fork ──> worker 0 .. n-1, each runs `work` until it returns or is ended
//      │  sleeps in sigtimedwait: SIGCHLD: reap, start another in its place (with a growing pause if it died at once)
//      └─ SIGTERM, SIGINT: SIGTERM to all, then SIGKILL to who is still there, reap all, return
//
// The master has only one thread. If the master ends for any reason, the kernel kills its workers (PR_SET_PDEATHSIG).
// If a worker ends, the processes that it has forked become children of the master (PR_SET_CHILD_SUBREAPER). The master
// reaps these processes too.
#pragma once

#include <sys/types.h>

#include <functional>

#include <models/model_table.h>

namespace peal::models {

// The arguments of the function that a worker process runs.
struct WorkerStart {
  size_t index;  // 0 .. n-1; a new worker gets the index of the one that it replaces
  // A worker may call make_room() once, after it has stopped accepting clients. The worker still serves its last
  // clients, but the master immediately starts a new worker with the same index. Both workers run at the same time,
  // until the old worker returns or the master ends all workers.
  std::function<void()> make_room;
};

// Says how a worker reacts to SIGTERM, which the master sends to end the worker.
enum class WorkerEnd : uint8_t {
  // SIGTERM kills the worker, which is the default action. Choose kBySignal for workers that sleep in blocking calls.
  // The worker ignores SIGINT, because a terminal also sends SIGINT to the master. The master then sends SIGTERM to its
  // workers.
  kBySignal,
  kByStop,  // SIGTERM and SIGINT stay blocked; the worker makes a Stop (stop.h), waits for its fd, and then returns
};

// Runs `work` in `count` worker processes, until SIGTERM or SIGINT arrives. Then ends all workers and returns success.
// If the first workers cannot be started, ends the workers that run already, and fails with ENOMEM or an error of
// fork(2). An error that `work` returns is logged. If a worker ends, the master replaces it by a new worker:
// - Immediately, if `work` has returned success or the worker has lived for at least 1 s.
// - Otherwise after a pause. Without the pause, a worker that fails at its start would be replaced again and again, and
//   use a whole CPU. The first pause is 20 ms. Each further pause in a row is twice as long as the previous one, but at
//   most 2 s.
// A worker that has called make_room() is not replaced when it ends, because the master has already started the new
// worker after that call.
Result<void> run_worker_processes(ModelRun& run, size_t count, WorkerEnd end,
                                  const std::function<Result<void>(const WorkerStart&)>& work);

// Makes a child process end together with its parent. Call die_with_parent() in the child immediately after fork(2).
// Processes that a worker forks must call die_with_parent() too, because a child of fork(2) does not inherit the
// setting (PR_SET_PDEATHSIG). `parent` is the pid of the process that called fork(2). If the parent has already ended,
// the child exits. Otherwise the kernel kills the child when the thread that called fork(2) ends, even if other threads
// of the parent still run.
void die_with_parent(pid_t parent);

}  // namespace peal::models
