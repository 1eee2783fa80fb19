// SPDX-License-Identifier: BSD-3-Clause
// half_sync_unbounded_queue (EpollReactorThreadPoolHSHA): the I/O threads move bytes, which is the asynchronous half.
// The workers compute, which is the synchronous half.
//
//   --io-threads:  accept, read, take frames ─ push ─> ┌───────────────────┐ ─ pop ─> work ─> write   :--workers
//                                                      │ mutex, list,      │                  or
//   --io-threads:  write (--reply-by io)               │ condition "not    │          give back to write
//                           ^                          │ empty"            │                  │
//                           └──────────────────────────└───────────────────┘──────────────────┘ epoll_ctl
//
// The I/O threads accept, read and parse frames. Any free worker computes. With --reply-by worker, the worker writes
// the answer. With --reply-by io, the worker gives the connection back, and the I/O thread writes. A request moves to
// another thread twice. On the way to a worker, it goes through a queue under one mutex, and a condition variable wakes
// a worker. On the way back, the worker registers the connection in its I/O thread's epoll again.
//
// While a worker is free, a request that computes or sleeps for a long time delays no other request. No plain reactor
// can do that. The price of each request is two changes of thread and one epoll_ctl(2). The queue has no bound, but
// stays short, because each connection is in it at most once. See common/half_sync.h.
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
