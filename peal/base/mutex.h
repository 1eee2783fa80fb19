// SPDX-License-Identifier: BSD-3-Clause
// Mutex, MutexLock and Condition wrap std::mutex and std::condition_variable. They add two checks:
//   - clang checks at compile time that data is used only under the mutex that guards it (thread_annotations.h).
//   - Each Mutex knows which thread holds it. Three mistakes then abort with a message instead of a hang: to lock a
//     mutex twice, to unlock another thread's mutex, and to call a function without the lock that it needs.
//
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

// A mutex that is not recursive. All functions may be called from any thread. No thread may hold it when it is
// destroyed.
class PEAL_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Waits until the mutex is free and takes it. Asserts if the calling thread holds it already.
  void lock() PEAL_ACQUIRE() {
    PEAL_ASSERT(!held_here(), "thread {} locks a mutex that it holds already", current_thread_id());
    mutex_.lock();
    set_holder();
  }

  // Takes the mutex if it is free, without waiting. Returns false if another thread holds it. Asserts if the calling
  // thread holds it already.
  bool try_lock() PEAL_TRY_ACQUIRE(true) {
    PEAL_ASSERT(!held_here(), "thread {} locks a mutex that it holds already", current_thread_id());
    if (!mutex_.try_lock()) return false;
    set_holder();
    return true;
  }

  // Releases the mutex. Asserts if the calling thread does not hold it.
  void unlock() PEAL_RELEASE() {
    clear_holder();
    mutex_.unlock();
  }

  // Releases the mutex in the child of fork(2), if the thread that forked holds it. The child's thread has another id
  // than the one that has locked the mutex, so unlock() would assert. Meant for handlers of pthread_atfork(3).
  void unlock_in_child() PEAL_RELEASE() {
    holder_.store(0, std::memory_order_relaxed);
    mutex_.unlock();
  }

  // Asserts that the calling thread holds the mutex, and declares to clang's analysis that the mutex is held from here
  // on. Meant for functions that cannot be declared with PEAL_REQUIRES, such as callbacks and virtual functions.
  void assert_held() const PEAL_ASSERTS_HELD(this) {
    PEAL_ASSERT(held_here(), "thread {} does not hold the mutex it needs", current_thread_id());
  }

 private:
  friend class Condition;

  // held_here() is true if the calling thread holds the mutex. set_holder() records the calling thread as the holder.
  // clear_holder() asserts that the calling thread is the holder and removes the record.
  bool held_here() const { return holder_.load(std::memory_order_relaxed) == current_thread_id(); }
  void set_holder() { holder_.store(current_thread_id(), std::memory_order_relaxed); }
  void clear_holder() {
    assert_held();
    holder_.store(0, std::memory_order_relaxed);
  }

  std::mutex mutex_;
  // The id of the thread that holds the mutex, or 0. A thread can read its own id here only if it has stored the id
  // itself, so relaxed operations are enough.
  std::atomic<pid_t> holder_ = 0;
};

// Locks a mutex for the lifetime of the object.
class PEAL_SCOPED_CAPABILITY MutexLock {
 public:
  [[nodiscard]] explicit MutexLock(Mutex& mutex) PEAL_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  ~MutexLock() PEAL_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable for Mutex. Threads that wait at the same time must pass the same mutex. A wait may end without a
// notification, so call it in a loop that checks the awaited condition. There is no wait with a predicate, because
// clang cannot see inside a lambda that the lock is held.
class Condition {
 public:
  // Releases the mutex, waits for a notification and locks the mutex again.
  void wait(Mutex& mutex) PEAL_REQUIRES(mutex) {
    Handover lock(mutex);
    condition_.wait(lock.lock);
  }

  // Waits as wait() does, but at most until `deadline`. Returns false if the deadline has passed.
  bool wait_until(Mutex& mutex, TimePoint deadline) PEAL_REQUIRES(mutex) {
    Handover lock(mutex);
    if (deadline == kNever) {
      condition_.wait(lock.lock);
      return true;
    }
    return condition_.wait_until(lock.lock, deadline) == std::cv_status::no_timeout;
  }

  // notify_one() wakes one waiting thread, notify_all() wakes all of them. The caller may hold the mutex, but does not
  // have to.
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  // Passes the held mutex to std::condition_variable for one wait, and records this thread as its holder again
  // afterwards.
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
