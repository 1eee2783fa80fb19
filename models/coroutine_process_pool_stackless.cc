// SPDX-License-Identifier: BSD-3-Clause
// coroutine_process_pool_stackless: coroutine_process_pool with C++20 coroutines. Each process runs
// coroutine_stackless.
//
//   master: forks --workers, minds the signals, starts a process in the place of one that died
//      ├─ worker 0:  listener 0 ──> acceptor, a coroutine for each connection, one epoll
//      └─ worker 1:  listener 1 ──> the same, sharing nothing with the first
//
// In each process, coroutines accept, read, compute and write. The kernel chooses the process of a connection. A
// connection never moves to another process, so the load of the processes is not balanced. The limit --coroutines
// applies to each process.
#include <models/common/workers/own_listeners.h>
#include <models/models.h>

namespace peal::models {

Result<void> coroutine_process_pool_stackless(ModelRun& run) {
  return run_with_own_listeners(run, coroutine_stackless);
}

}  // namespace peal::models
