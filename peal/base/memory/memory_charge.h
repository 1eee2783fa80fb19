// SPDX-License-Identifier: BSD-3-Clause
// MemoryCharge: memory that is not in blocks, a string that a body is gathered in say, and that the budget counts all
// the same (memory_budget.h). free_storage(): how a string or vector is emptied of its memory.
//
// A charge does not pause anybody. Whoever gathers asks, as the memory grows, whether it may: above the hard mark it
// may not, and what it has is given up.
#pragma once

#include <cstddef>
#include <utility>

#include <peal/base/memory/memory_budget.h>

namespace peal {

// Empties it and gives back its memory. clear() keeps that, and so does `container = {}`.
template <class Container>
void free_storage(Container& container) {
  Container().swap(container);
}

// One owner, any thread, one at a time; what it counts ends with it.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(MemoryCharge&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() { set(0); }

  size_t bytes() const { return bytes_; }
  void set(size_t bytes) {
    if (bytes > bytes_) {
      MemoryBudget::grew(bytes - bytes_);
    } else if (bytes < bytes_) {
      MemoryBudget::shrank(bytes_ - bytes);
    }
    bytes_ = bytes;
  }
  // For what grows: so many bytes are held now. False where they have become more while the process is above its hard
  // mark. Up to kFreeBytes, which many have and nobody gathers much in, nothing is counted nor refused.
  bool follow(size_t bytes) {
    if (bytes <= kFreeBytes) bytes = 0;
    if (bytes == bytes_) return true;
    const bool grows = bytes > bytes_;
    set(bytes);
    return !grows || !MemoryBudget::above_hard();
  }

  static constexpr size_t kFreeBytes = 4096;

 private:
  size_t bytes_ = 0;
};

}  // namespace peal
