// SPDX-License-Identifier: BSD-3-Clause
// BlockingQueue passes elements between threads, first in, first out. take() waits while the queue is empty, and put()
// waits while it is full. Any number of threads may call all functions. Elements have to be movable only.
//
// A deadline is a time of monotonic_now(). kNever waits without limit, and a time in the past does not wait.
//
// close() ends the stream: from then on put() fails, and take() returns the remaining elements and then nullopt. No
// thread may be waiting in the queue when it is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include <peal/base/mutex.h>

namespace peal {

template <class T>
class BlockingQueue {
 public:
  // Makes a queue without a limit.
  BlockingQueue() = default;

  // Makes a queue of at most `capacity` elements. Asserts that `capacity` is above 0.
  explicit BlockingQueue(std::size_t capacity) : capacity_(capacity) {
    PEAL_ASSERT(capacity > 0, "a queue needs a capacity above 0");
  }

  // Waits until there is room and appends `value`. Returns false if the queue is closed or the deadline has passed, and
  // leaves `value` unchanged then.
  bool put(T&& value, TimePoint deadline = kNever) {
    {
      MutexLock lock(mutex_);
      while (!closed_ && queue_.size() >= capacity_) {
        if (!not_full_.wait_until(mutex_, deadline) && queue_.size() >= capacity_) return false;
      }
      if (closed_) return false;
      queue_.push_back(std::move(value));
    }
    not_empty_.notify_one();
    return true;
  }
  bool put(const T& value, TimePoint deadline = kNever) { return put(T(value), deadline); }

  // Appends `value` if there is room, without waiting. Returns false if the queue is closed or full, and leaves `value`
  // unchanged then.
  bool try_put(T&& value) { return put(std::move(value), TimePoint{}); }

  // Waits for an element, removes it from the queue and returns it. Returns nullopt if the queue is closed and empty,
  // or if the deadline has passed.
  std::optional<T> take(TimePoint deadline = kNever) {
    std::optional<T> value;
    {
      MutexLock lock(mutex_);
      while (!closed_ && queue_.empty()) {
        if (!not_empty_.wait_until(mutex_, deadline) && queue_.empty()) return value;
      }
      if (queue_.empty()) return value;
      value.emplace(std::move(queue_.front()));
      queue_.pop_front();
    }
    not_full_.notify_one();
    return value;
  }

  // Removes the first element and returns it, or returns nullopt if the queue is empty. Does not wait.
  std::optional<T> try_take() { return take(TimePoint{}); }

  // Removes and returns all elements, without waiting.
  std::deque<T> take_all() {
    MutexLock lock(mutex_);
    not_full_.notify_all();
    return std::exchange(queue_, {});
  }

  // Closes the queue and wakes all waiting threads. A second call has no effect.
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  // True if close() has been called.
  bool closed() const {
    MutexLock lock(mutex_);
    return closed_;
  }

  // Returns the number of elements. Other threads may have changed it when the call returns.
  std::size_t size() const {
    MutexLock lock(mutex_);
    return queue_.size();
  }

 private:
  const std::size_t capacity_ = SIZE_MAX;
  mutable Mutex mutex_;
  Condition not_empty_, not_full_;
  std::deque<T> queue_ PEAL_GUARDED_BY(mutex_);
  bool closed_ PEAL_GUARDED_BY(mutex_) = false;
};

}  // namespace peal
