// SPDX-License-Identifier: BSD-3-Clause
// A queue between threads: takers wait while it is empty, putters wait while it is full. First in, first out; any
// number of threads on both ends; elements need only move. Each wait has a deadline if one is given.
// close() is the end of the stream: putters are refused, takers get what is left and then nothing.
// The owner destroys it when nobody waits in it.
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
  // Unbounded.
  BlockingQueue() = default;
  // Holds `capacity` > 0 elements at most.
  explicit BlockingQueue(std::size_t capacity) : capacity_(capacity) {
    PEAL_ASSERT(capacity > 0, "a queue needs a capacity above 0");
  }

  // Waits for room. False: closed, or the deadline has passed; then `value` has not been moved from.
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
  bool try_put(T&& value) { return put(std::move(value), TimePoint{}); }

  // Waits for an element. Nothing: closed and empty, or the deadline has passed.
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
  std::optional<T> try_take() { return take(TimePoint{}); }
  // What there is, at once.
  std::deque<T> take_all() {
    MutexLock lock(mutex_);
    not_full_.notify_all();
    return std::exchange(queue_, {});
  }

  // Wakes all who wait. Closing twice is closing once.
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }
  bool closed() const {
    MutexLock lock(mutex_);
    return closed_;
  }
  // True a moment ago.
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
