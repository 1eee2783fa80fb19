// SPDX-License-Identifier: BSD-3-Clause
// coroutine_process_pool (EpollReactorProcessPoolCoroutine): coroutine_stackful in several processes.
//
//   master: forks --workers, minds the signals, starts a process in the place of one that died
//      ├─ worker 0:  listener 0 ──> acceptor, a coroutine for each connection, one epoll
//      └─ worker 1:  listener 1 ──> the same, sharing nothing with the first
//
// Who accepts, reads, computes and writes: coroutines, each in the process whose listener the kernel chose
// (SO_REUSEPORT, by a hash of the addresses). Work never changes processes. --coroutines is for each process.
//
// What it cannot do: even out. A process that got the busy connections keeps them while another one sleeps, and who was
// put in line behind a process whose coroutines are all taken waits though others are free.
#include <models/common/workers/own_listeners.h>
#include <models/models.h>

namespace peal::models {

Result<void> coroutine_process_pool(ModelRun& run) { return run_with_own_listeners(run, coroutine_stackful); }

}  // namespace peal::models
