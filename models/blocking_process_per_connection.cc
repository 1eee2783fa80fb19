// SPDX-License-Identifier: BSD-3-Clause
// blocking_process_per_connection (MultiProcess): the server of the first Unix network programs.
//
//   acceptor:  accept ──> fork ──> close the connection ──> accept the next
//                          └──> child: close the listener ─> read ─> frames ─> work ─> write ─> ... ─> exit
//   master:    starts the acceptor again if it dies, and ends everything
//
// Who accepts: one process. Who reads, computes and writes: a child for each connection, in blocking calls. Work
// changes hands by inheritance: the child gets the open connection as it gets everything. The acceptor ignores SIGCHLD,
// so the kernel reaps its children. They die with it (PR_SET_PDEATHSIG), and it with its master. It serves as many
// clients as there may be processes, at the price of a process for each: a fork for a short connection costs more than
// its answers. A connection for which there is no process is closed at once. Silent clients cost memory, but stop
// nobody.
#include <sys/types.h>
#include <unistd.h>

#include <csignal>

#include <models/common/blocking_service.h>
#include <models/common/workers/worker_processes.h>
#include <models/models.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>

namespace peal::models {
namespace {

[[noreturn]] void serve_in_child(const Fd& client, pid_t acceptor, ModelRun& run) noexcept {
  die_with_parent(acceptor);
  run.listener.reset();
  serve_and_count(client.get(), run);
  ::_exit(0);
}

Result<void> accept_and_fork(ModelRun& run) {
  ::signal(SIGCHLD, SIG_IGN);
  const pid_t acceptor = ::getpid();
  LogLimiter limiter{std::chrono::seconds(1)};
  while (const Fd client = accept_next(run.listener.get(), run.statistics)) {
    const pid_t child = ::fork();
    if (child == 0) serve_in_child(client, acceptor, run);
    if (child > 0) continue;
    const std::error_code error = errno_code(errno);
    count_one(run.statistics, &Tally::refused);
    if (const auto more = limiter.admit(monotonic_now())) {
      PEAL_LOG_WARN("no process for a connection: {} ({} more like it)", error.message(), *more);
    }
  }
  return fail(EINVAL);  // a listener that nobody shuts down has ended
}

}  // namespace

Result<void> blocking_process_per_connection(ModelRun& run) {
  return run_worker_processes(run, 1, WorkerEnd::kBySignal, [&](const WorkerStart&) { return accept_and_fork(run); });
}

}  // namespace peal::models
