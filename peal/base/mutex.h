// SPDX-License-Identifier: BSD-3-Clause
// std::mutex and std::condition_variable with what they lack: clang proves that what a mutex guards is touched under it
// (thread_annotations.h), and the mutex knows its holder, so that locking twice, unlocking what another thread holds,
// and a function called without its lock are sentences, not hangs.
//   MutexLock lock(mutex_);
//   while (queue_.empty()) not_empty_.wait(mutex_);
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include <peal/base/assert.h>
#include <peal/base/clock.h>
#include <peal/base/this_thread.h>
#include <peal/base/thread_annotations.h>

namespace peal {

class Condition;

// Not recursive. Any thread; destroyed when nobody holds it.
class PEAL_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() PEAL_ACQUIRE() {
    PEAL_ASSERT(!held_here(), "thread {} locks a mutex that it holds already", current_thread_id());
    mutex_.lock();
    set_holder();
  }
  bool try_lock() PEAL_TRY_ACQUIRE(true) {
    PEAL_ASSERT(!held_here(), "thread {} locks a mutex that it holds already", current_thread_id());
    if (!mutex_.try_lock()) return false;
    set_holder();
    return true;
  }
  void unlock() PEAL_RELEASE() {
    clear_holder();
    mutex_.unlock();
  }
  // For functions that cannot say PEAL_REQUIRES: callbacks, virtuals. From here on clang too takes it as held.
  void assert_held() const PEAL_ASSERTS_HELD(this) {
    PEAL_ASSERT(held_here(), "thread {} does not hold the mutex it needs", current_thread_id());
  }

 private:
  friend class Condition;

  bool held_here() const { return holder_.load(std::memory_order_relaxed) == current_thread_id(); }
  void set_holder() { holder_.store(current_thread_id(), std::memory_order_relaxed); }
  void clear_holder() {
    assert_held();
    holder_.store(0, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  std::atomic<pid_t> holder_ = 0;  // a thread finds its own id only if it wrote it itself, so no order is needed
};

class PEAL_SCOPED_CAPABILITY MutexLock {
 public:
  [[nodiscard]] explicit MutexLock(Mutex& mutex) PEAL_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  ~MutexLock() PEAL_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// All who wait at one time pass the same mutex, held. Waits end without reason now and then: loop over what is waited
// for. There is no wait with a predicate, because clang does not see the lock inside a lambda.
class Condition {
 public:
  void wait(Mutex& mutex) PEAL_REQUIRES(mutex) {
    Handover lock(mutex);
    condition_.wait(lock.lock);
  }
  // False: the deadline has passed.
  bool wait_until(Mutex& mutex, TimePoint deadline) PEAL_REQUIRES(mutex) {
    Handover lock(mutex);
    if (deadline == kNever) {
      condition_.wait(lock.lock);
      return true;
    }
    return condition_.wait_until(lock.lock, deadline) == std::cv_status::no_timeout;
  }
  // With or without the mutex.
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  // Lends the held mutex to the standard's condition and takes it back.
  struct Handover {
    explicit Handover(Mutex& held) : mutex(held), lock(held.mutex_, std::adopt_lock) { mutex.clear_holder(); }
    ~Handover() {
      lock.release();
      mutex.set_holder();
    }

    Mutex& mutex;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

}  // namespace peal
