// SPDX-License-Identifier: BSD-3-Clause
// blocking_leader_follower (LeaderAndFollower): threads that take turns at one listener.
//
//   follower ──> takes the mutex: leader ──> accept ──> gives the mutex to the next leader ──┐
//      ^                                                                                     v
//      └──── until the client ends <── write <─ work <─ frames <─ read <── processes its own connection
//
// Who accepts: the leader, the one thread that has the mutex. Who reads, computes and writes: the same thread, in
// blocking calls, after it has let the next one lead. Work never changes hands: what is handed on is the right to
// accept. It serves n clients at a time; the n+1st waits in the backlog until any thread is free. n silent clients stop
// it. The kernel would wake just one of several threads in accept, too: the mutex is what the pattern is known for, not
// a need.
#include <models/common/blocking_service.h>
#include <models/common/workers/worker_threads.h>
#include <models/models.h>
#include <peal/base/mutex.h>

namespace peal::models {
namespace {

class Leadership {
 public:
  // The calling thread becomes the leader, accepts, and is no leader any more.
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
