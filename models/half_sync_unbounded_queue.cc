// SPDX-License-Identifier: BSD-3-Clause
// half_sync_unbounded_queue (EpollReactorThreadPoolHSHA): the asynchronous half moves bytes, the synchronous half
// thinks.
//
//   --io-threads:  accept, read, take frames ─ push ─> ┌───────────────────┐ ─ pop ─> work ─> write   :--workers
//                                                      │ mutex, list,      │                  or
//   --io-threads:  write (--reply-by io)               │ condition "not    │          give back to write
//                           ^                          │ empty"            │                  │
//                           └──────────────────────────└───────────────────┘──────────────────┘ epoll_ctl
//
// Who accepts, reads and decodes: the I/O threads. Who computes: any worker that is free. Who writes: the worker
// (--reply-by worker), or the I/O thread when the worker has given the connection back (--reply-by io). Work changes
// hands twice a request: by a queue under one mutex, whose condition wakes a worker, and back by arming the connection
// in its epoll.
//
// So a request that computes for long, or sleeps, holds up no other as long as a worker is free, which no plain reactor
// can offer. The price is two changes of thread and one epoll_ctl(2) for every request. The queue takes everything: it
// is bounded only by the connections, each of which is in it once at most. See common/half_sync.h.
#include <deque>

#include <models/common/half_sync.h>
#include <models/models.h>
#include <peal/base/mutex.h>

namespace peal::models {
namespace {

class UnboundedQueue final : public HalfSyncQueue {
 public:
  void push(HalfSyncConnection* connection) override {
    {
      MutexLock lock(mutex_);
      waiting_.push_back(connection);
    }
    not_empty_.notify_one();
  }

  HalfSyncConnection* pop() override {
    MutexLock lock(mutex_);
    while (waiting_.empty()) not_empty_.wait(mutex_);
    HalfSyncConnection* const first = waiting_.front();
    waiting_.pop_front();
    return first;
  }

 private:
  Mutex mutex_;
  Condition not_empty_;
  std::deque<HalfSyncConnection*> waiting_ PEAL_GUARDED_BY(mutex_);
};

}  // namespace

Result<void> half_sync_unbounded_queue(ModelRun& run) {
  UnboundedQueue queue;
  return run_half_sync(run, queue);
}

}  // namespace peal::models
