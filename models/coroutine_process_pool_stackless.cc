// SPDX-License-Identifier: BSD-3-Clause
// coroutine_process_pool_stackless: coroutine_process_pool with C++20's coroutines, coroutine_stackless in each
// process.
//
//   master: forks --workers, minds the signals, starts a process in the place of one that died
//      ├─ worker 0:  listener 0 ──> acceptor, a coroutine for each connection, one epoll
//      └─ worker 1:  listener 1 ──> the same, sharing nothing with the first
//
// Who accepts, reads, computes and writes: coroutines, each in the process whose listener the kernel chose. Work never
// changes processes, and so is never evened out between them. --coroutines is for each process.
#include <models/common/workers/own_listeners.h>
#include <models/models.h>

namespace peal::models {

Result<void> coroutine_process_pool_stackless(ModelRun& run) {
  return run_with_own_listeners(run, coroutine_stackless);
}

}  // namespace peal::models
