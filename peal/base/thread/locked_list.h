// SPDX-License-Identifier: BSD-3-Clause
// A list that any thread may push to, look through and empty. Visitors run outside its lock and may use it again.
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
  void push(T value) {
    MutexLock lock(mutex_);
    list_.push_back(std::move(value));
  }
  // The list, which is empty from now on; in the order of pushing.
  std::vector<T> take_all() {
    MutexLock lock(mutex_);
    return std::exchange(list_, {});
  }
  std::vector<T> snapshot() const {
    MutexLock lock(mutex_);
    return list_;
  }
  // Visits what was in the list when it was called; the elements passed are copies.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const T& value : snapshot()) visit(value);
  }
  // The first element equal to `value`; false: there is none.
  bool remove(const T& value) {
    MutexLock lock(mutex_);
    const auto at = std::ranges::find(list_, value);
    const bool found = at != list_.end();
    if (found) list_.erase(at);
    return found;
  }
  std::size_t size() const {
    MutexLock lock(mutex_);
    return list_.size();
  }

 private:
  mutable Mutex mutex_;
  std::vector<T> list_ PEAL_GUARDED_BY(mutex_);
};

}  // namespace peal
