// SPDX-License-Identifier: BSD-3-Clause
// MemoryBudget counts the memory that the process uses for blocks, and has two marks above which the library saves
// memory. There is one budget for the process. All functions may be called from any thread.
//
// The budget counts the capacity of all blocks, free ones included, and the memory of each MemoryCharge
// (memory_charge.h). A pool updates the count only when it allocates or frees a block, so sending and receiving bytes
// does not touch it.
//
// The connections of net/ do the following:
//   - Above the soft mark, a loop whose pool allocates stops reading its connections that hold bytes.
//   - The loop reads them again below the low mark, which is 7/8 of the soft mark. After five seconds it is enough to
//     be at or below the soft mark.
//   - After each five seconds above the soft mark, the loop closes its largest connection.
//   - Above the hard mark, a connection that needs more memory is closed. A loop whose pool allocates closes its
//     largest connections, until the rest should be below the mark.
//
// The count may exceed a mark by the bytes that arrive in one turn of each loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace peal {

// The two marks of the budget, in bytes.
struct MemoryMarks {
  uint64_t soft_bytes = 0;
  uint64_t hard_bytes = 0;  // must be above soft_bytes
};

class MemoryBudget {
 public:
  // Returns the marks that hold until set() is called: a quarter and a half of the machine's memory. That is far more
  // than a healthy service queues, and low enough to act before the kernel's out-of-memory killer.
  static MemoryMarks default_marks();

  // Sets both marks. Call it in a container, since the limit of a container is not taken into account. Allow more than
  // 16 MiB for each loop, because the free blocks of its pool count too. Asserts 0 < soft_bytes < hard_bytes.
  static void set(MemoryMarks marks);

  // Returns the marks that hold now.
  static MemoryMarks marks();

  // Returns the bytes that are counted now.
  static uint64_t held_bytes() { return held_bytes_.load(std::memory_order_relaxed); }

  // above_soft(), above_hard() and below_low() compare the counted bytes with the soft, the hard and the low mark. The
  // low mark is 7/8 of the soft mark.
  static bool above_soft() { return held_bytes() > marks().soft_bytes; }
  static bool above_hard() { return held_bytes() > marks().hard_bytes; }
  static bool below_low() { return held_bytes() < marks().soft_bytes / 8 * 7; }

  // grew() adds to the counted bytes and shrank() subtracts from them. BlockPool and MemoryCharge call them. grew()
  // returns true if the sum is now above the soft mark.
  static bool grew(size_t bytes) {
    return held_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > marks().soft_bytes;
  }
  static void shrank(size_t bytes) { held_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  static inline std::atomic<uint64_t> held_bytes_ = 0;
  static inline std::atomic<uint64_t> soft_bytes_ = 0;  // 0 until set() is called
  static inline std::atomic<uint64_t> hard_bytes_ = 0;
};

// The interface of the listener that BlockPool::set_listener() takes.
class MemoryListener {
 public:
  // Called on the pool's thread when the pool has allocated a block while the process is above the soft mark. The
  // listener must not acquire or release blocks inside the call, because the call comes in the middle of an operation
  // on a buffer. It may schedule such work for later.
  virtual void on_memory_short() = 0;

 protected:
  ~MemoryListener() = default;
};

}  // namespace peal
