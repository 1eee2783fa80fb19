// SPDX-License-Identifier: BSD-3-Clause
// blocking_leader_follower (LeaderAndFollower): several threads accept from one listener, one thread at a time.
//
//   follower ──> takes the mutex: leader ──> accept ──> gives the mutex to the next leader ──┐
//      ^                                                                                     v
//      └──── until the client ends <── write <─ work <─ frames <─ read <── processes its own connection
//
// All threads run the same code. The thread that holds the mutex is the leader: it accepts a connection, then gives the
// mutex to the next leader. After that it reads, computes and writes for its connection, in blocking calls. A
// connection never moves to another thread. Only the right to accept is passed on.
//
// With n threads, the service handles n clients at a time. The next client waits in the backlog until a thread is free,
// so n silent clients block the service. The mutex is not necessary, because the kernel wakes only one of several
// threads in accept. The mutex is there because it defines this pattern.
#include <models/common/blocking_service.h>
#include <models/common/workers/worker_threads.h>
#include <models/models.h>
#include <peal/base/mutex.h>

namespace peal::models {
namespace {

class Leadership {
 public:
  // Waits for the mutex. The thread that holds the mutex is the leader. Accepts one connection as the leader, then
  // unlocks the mutex, so another thread becomes the leader.
  Fd accept_as_leader(ModelRun& run, const BlockedThreads& sleepers) {
    const MutexLock lead(mutex_);
    return accept_next(run.listener.get(), run.statistics, &sleepers);
  }

 private:
  Mutex mutex_;
};

}  // namespace

Result<void> blocking_leader_follower(ModelRun& run) {
  Result<std::unique_ptr<BlockedThreads>> sleepers = BlockedThreads::start(run.stop);
  if (!sleepers) return std::unexpected(sleepers.error());
  const BlockedThreads::Place place(**sleepers, run.listener.get());
  Leadership leadership;
  return run_worker_threads(run.options.workers, **sleepers, [&](size_t) {
    while (const Fd client = leadership.accept_as_leader(run, **sleepers)) {
      const BlockedThreads::Place client_place(**sleepers, client.get());
      serve_and_count(client.get(), run);
    }
  });
}

}  // namespace peal::models
