// SPDX-License-Identifier: BSD-3-Clause
// MemoryBudget: how much memory the blocks of this process hold, and how much they may.
//
// It counts the capacity of blocks, free warm ones included, where a pool takes memory from malloc or gives it back,
// and what MemoryCharge is told (memory_charge.h): the paths on which bytes move know nothing of it. One for the
// process, because memory is. Any thread.
//
// Two marks. Above the soft one, a loop whose pool grows stops reading the connections that hold bytes. It reads them
// again when what is held is below the low mark, 7/8 of the soft one. After five seconds it is enough to be below the
// soft mark. Above the hard one, a connection that asks for more is closed. Both are the work of net; a mark may be
// overshot by what arrives in one turn of each loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace peal {

struct MemoryMarks {
  uint64_t soft_bytes = 0;
  uint64_t hard_bytes = 0;  // > soft_bytes
};

class MemoryBudget {
 public:
  // Unless set, a quarter and a half of the machine's memory: far beyond what a healthy service queues, and soon enough
  // to be the one who decides instead of the kernel's out-of-memory killer. Set them in a container, whose limit is
  // not looked at, and to more than 16 MiB for each loop: what its pool keeps warm counts too.
  static MemoryMarks default_marks();
  static void set(MemoryMarks marks);
  static MemoryMarks marks();
  static uint64_t held_bytes() { return held_bytes_.load(std::memory_order_relaxed); }
  static bool above_soft() { return held_bytes() > marks().soft_bytes; }
  static bool above_hard() { return held_bytes() > marks().hard_bytes; }
  static bool below_low() { return held_bytes() < marks().soft_bytes / 8 * 7; }

  // For pools. True when what is held is now above the soft mark.
  static bool grew(size_t bytes) {
    return held_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > marks().soft_bytes;
  }
  static void shrank(size_t bytes) { held_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  static inline std::atomic<uint64_t> held_bytes_ = 0;
  static inline std::atomic<uint64_t> soft_bytes_ = 0;  // 0: not set
  static inline std::atomic<uint64_t> hard_bytes_ = 0;
};

// Told, on a pool's thread, that the pool has grown while the process is above its soft mark. It must not touch blocks
// at once: whoever is growing is in the middle of something.
class MemoryListener {
 public:
  virtual void on_memory_short() = 0;

 protected:
  ~MemoryListener() = default;
};

}  // namespace peal
