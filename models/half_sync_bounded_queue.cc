// SPDX-License-Identifier: BSD-3-Clause
// half_sync_bounded_queue (EpollReactorThreadPoolHSHA2): half_sync_unbounded_queue, with a queue that can be full.
//
//                              ┌ semaphore "free places":  -1 before a push, +1 after a pop ┐
//   accept, read, take frames ─┤ ring of --queue-bound places, under a mutex                ├─> work ─> write, or
//                              └ semaphore "taken places": +1 after a push, -1 before a pop ┘   give back to write
//
// The I/O threads accept, read and parse frames. Any free worker computes. Then the worker or the I/O thread writes the
// answer (--reply-by). A request moves to another thread twice, as in half_sync_unbounded_queue. Two semaphores are the
// classic solution for producers and consumers: each side sleeps on its own semaphore, and is woken by the other side.
//
// If the queue is full, the I/O thread blocks, and so do all its connections. It does not read, so the sockets of its
// clients become full, and the clients have to send more slowly. That is the purpose of the bound. The limit of this
// model: while the I/O thread blocks, it cannot even write an answer that is ready (--reply-by io).
#include <semaphore.h>

#include <cerrno>
#include <vector>

#include <models/common/half_sync.h>
#include <models/models.h>
#include <peal/base/assert.h>
#include <peal/base/mutex.h>

namespace peal::models {
namespace {

// A counting semaphore, made from a POSIX sem_t. It replaces std::counting_semaphore, which has an error in g++ 12: a
// waiting thread may sleep forever (GCC bug 104928).
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
