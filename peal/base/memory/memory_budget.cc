// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/memory/memory_budget.h>

#include <unistd.h>

#include <peal/base/assert.h>

namespace peal {

MemoryMarks MemoryBudget::default_marks() {
  static const auto ram =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.soft_bytes = ram / 4, .hard_bytes = ram / 2};
}

void MemoryBudget::set(MemoryMarks marks) {
  PEAL_ASSERT(marks.soft_bytes > 0 && marks.hard_bytes > marks.soft_bytes,
              "a memory budget needs 0 < soft < hard, and got soft {} and hard {} bytes", marks.soft_bytes,
              marks.hard_bytes);
  hard_bytes_.store(marks.hard_bytes, std::memory_order_relaxed);
  soft_bytes_.store(marks.soft_bytes, std::memory_order_relaxed);
}

MemoryMarks MemoryBudget::marks() {
  const uint64_t soft = soft_bytes_.load(std::memory_order_relaxed);
  if (soft == 0) return default_marks();
  return {.soft_bytes = soft, .hard_bytes = hard_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace peal
