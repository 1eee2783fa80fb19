// SPDX-License-Identifier: BSD-3-Clause
// half_sync_bounded_queue (EpollReactorThreadPoolHSHA2): half_sync_unbounded_queue with a queue that can be full.
//
//                              ┌ semaphore "free places":  -1 before a push, +1 after a pop ┐
//   accept, read, take frames ─┤ ring of --queue-bound places, under a mutex                ├─> work ─> write, or
//                              └ semaphore "taken places": +1 after a push, -1 before a pop ┘   give back to write
//
// Who accepts, reads and decodes: the I/O threads. Who computes: any worker that is free. Who writes: the worker, or
// the I/O thread (--reply-by). Work changes hands twice a request, as there. Two semaphores are the classical answer to
// producers and consumers: each side sleeps on its own, and is woken by the other.
//
// A full queue blocks the I/O thread, and with it everything it has: it reads nobody, so its clients find their sockets
// full and slow down. That is what a bound is for; and what the model cannot do is go on serving anybody meanwhile,
// even to write an answer that is ready (--reply-by io).
#include <semaphore.h>

#include <cerrno>
#include <vector>

#include <models/common/half_sync.h>
#include <models/models.h>
#include <peal/base/assert.h>
#include <peal/base/mutex.h>

namespace peal::models {
namespace {

// POSIX's, because a waiter of the std::counting_semaphore of g++ 12 may miss that it was woken (GCC bug 104928).
class Places {
 public:
  explicit Places(size_t count) {
    const int done = ::sem_init(&semaphore_, 0, static_cast<unsigned>(count));
    PEAL_ASSERT(done == 0, "sem_init({}) failed: {}", count, errno);
  }
  ~Places() { ::sem_destroy(&semaphore_); }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  void take() {
    while (::sem_wait(&semaphore_) != 0) PEAL_ASSERT(errno == EINTR, "sem_wait failed: {}", errno);
  }
  void give() { ::sem_post(&semaphore_); }

 private:
  sem_t semaphore_{};
};

class BoundedQueue final : public HalfSyncQueue {
 public:
  explicit BoundedQueue(size_t bound) : free_(bound), taken_(0), ring_(bound) {}

  void push(HalfSyncConnection* connection) override {
    free_.take();
    {
      MutexLock lock(mutex_);
      ring_[in_++ % ring_.size()] = connection;
    }
    taken_.give();
  }

  HalfSyncConnection* pop() override {
    taken_.take();
    HalfSyncConnection* first = nullptr;
    {
      MutexLock lock(mutex_);
      first = ring_[out_++ % ring_.size()];
    }
    free_.give();
    return first;
  }

 private:
  Places free_, taken_;
  Mutex mutex_;
  std::vector<HalfSyncConnection*> ring_ PEAL_GUARDED_BY(mutex_);
  size_t in_ PEAL_GUARDED_BY(mutex_) = 0;
  size_t out_ PEAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Result<void> half_sync_bounded_queue(ModelRun& run) {
  BoundedQueue queue(run.options.queue_bound);
  return run_half_sync(run, queue);
}

}  // namespace peal::models
