// SPDX-License-Identifier: BSD-3-Clause
// LockedList is a list that any thread may read and change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <peal/base/mutex.h>

namespace peal {

template <class T>
class LockedList {
 public:
  // Appends `value` to the list.
  void push(T value) {
    MutexLock lock(mutex_);
    list_.push_back(std::move(value));
  }

  // Removes and returns all elements, in the order in which they were pushed.
  std::vector<T> take_all() {
    MutexLock lock(mutex_);
    return std::exchange(list_, {});
  }

  // Returns a copy of all elements, in the order in which they were pushed.
  std::vector<T> snapshot() const {
    MutexLock lock(mutex_);
    return list_;
  }

  // Calls visit(value) for each element. The elements are copies that are made at the beginning of the call. The lock
  // is not held while `visit` runs, so `visit` may use the list.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const T& value : snapshot()) visit(value);
  }

  // Removes the first element that is equal to `value`. Returns false if no element is.
  bool remove(const T& value) {
    MutexLock lock(mutex_);
    const auto at = std::ranges::find(list_, value);
    const bool found = at != list_.end();
    if (found) list_.erase(at);
    return found;
  }

  // Returns the number of elements. Other threads may have changed it when the call returns.
  std::size_t size() const {
    MutexLock lock(mutex_);
    return list_.size();
  }

 private:
  mutable Mutex mutex_;
  std::vector<T> list_ PEAL_GUARDED_BY(mutex_);
};

}  // namespace peal
