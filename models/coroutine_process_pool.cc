// SPDX-License-Identifier: BSD-3-Clause
// coroutine_process_pool (EpollReactorProcessPoolCoroutine): coroutine_stackful in several processes.
//
//   master: forks --workers, minds the signals, starts a process in the place of one that died
//      ├─ worker 0:  listener 0 ──> acceptor, a coroutine for each connection, one epoll
//      └─ worker 1:  listener 1 ──> the same, sharing nothing with the first
//
// In each process, coroutines accept, read, compute and write. The kernel chooses the process of a connection by a hash
// of the addresses (SO_REUSEPORT). A connection never moves to another process. The limit --coroutines applies to each
// process.
//
// Limits: the load is not balanced. A process that has the busy connections keeps them, even if another process is
// idle. If all coroutines of its process are in use, a client waits, even if other processes have free ones.
#include <models/common/workers/own_listeners.h>
#include <models/models.h>

namespace peal::models {

Result<void> coroutine_process_pool(ModelRun& run) { return run_with_own_listeners(run, coroutine_stackful); }

}  // namespace peal::models
