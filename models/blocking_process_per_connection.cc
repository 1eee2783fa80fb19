// SPDX-License-Identifier: BSD-3-Clause
// blocking_process_per_connection (MultiProcess): the server of the first Unix network programs.
//
//   acceptor:  accept ──> fork ──> close the connection ──> accept the next
//                          └──> child: close the listener ─> read ─> frames ─> work ─> write ─> ... ─> exit
//   master:    starts the acceptor again if it dies, and ends everything
//
// One process, the acceptor, accepts connections. It forks a child for each connection. The child inherits the open
// connection, and reads, computes and writes in blocking calls. The acceptor ignores SIGCHLD, so the kernel reaps the
// children. If the acceptor dies, the kernel kills its children (PR_SET_PDEATHSIG). If the master dies, the kernel
// kills the acceptor in the same way.
//
// The service handles as many clients as there can be processes. The price is one process for each client: for a short
// connection, the fork costs more than the answers. If fork(2) fails, the connection is closed immediately. Silent
// clients cost memory, but delay no other client.
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
      PEAL_LOG_WARN("closed a connection, because no process could be forked for it: {} ({} more like it)",
                    error.message(), *more);
    }
  }
  return fail(EINVAL);  // accept failed, although no code shuts the listener down
}

}  // namespace

Result<void> blocking_process_per_connection(ModelRun& run) {
  return run_worker_processes(run, 1, WorkerEnd::kBySignal, [&](const WorkerStart&) { return accept_and_fork(run); });
}

}  // namespace peal::models
