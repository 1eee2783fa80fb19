// SPDX-License-Identifier: BSD-3-Clause
// MemoryCharge counts memory that is not in blocks in the memory budget (memory_budget.h), for example a string in
// which the body of a request is collected.
//
// A charge does not pause a connection. Code that collects data calls set_and_check() as its memory grows. If the
// process is above the hard mark, set_and_check() returns false, and the code has to stop and release what it has
// collected.
#pragma once

#include <cstddef>
#include <utility>

#include <peal/base/memory/memory_budget.h>

namespace peal {

// Empties a string or container and frees its memory, which clear() and `container = {}` would keep.
template <class Container>
void free_storage(Container& container) {
  Container().swap(container);
}

// A number of bytes that is counted in the memory budget. The destructor subtracts the bytes from the budget. A charge
// may be used on any thread, but only by one thread at a time.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  MemoryCharge(MemoryCharge&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryCharge() { set(0); }

  // Returns the bytes that this charge counts now.
  size_t bytes() const { return bytes_; }

  // Changes the counted bytes to `bytes`.
  void set(size_t bytes) {
    if (bytes > bytes_) {
      MemoryBudget::grew(bytes - bytes_);
    } else if (bytes < bytes_) {
      MemoryBudget::shrank(bytes_ - bytes);
    }
    bytes_ = bytes;
  }

  // Changes the counted bytes to `bytes`, for memory that grows. Returns false if the charge has grown and the process
  // is above the hard mark. The bytes are counted even then.
  // Up to kFreeBytes are counted as 0 and never refused, because there are many small strings that hardly grow.
  bool set_and_check(size_t bytes) {
    if (bytes <= kFreeBytes) bytes = 0;
    if (bytes == bytes_) return true;
    const bool grows = bytes > bytes_;
    set(bytes);
    return !grows || !MemoryBudget::above_hard();
  }

  // The largest number of bytes that set_and_check() counts as 0.
  static constexpr size_t kFreeBytes = 4096;

 private:
  size_t bytes_ = 0;
};

}  // namespace peal
