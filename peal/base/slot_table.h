// SPDX-License-Identifier: BSD-3-Clause
// SlotTable: objects that never move, found by {slot, generation} in a few instructions. A freed slot is reused first,
// under a new generation, so that an old id finds nothing. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <peal/base/assert.h>

namespace peal {

// What SlotTable keeps in each object; a T has these members, its own or inherited.
struct SlotLinks {
  uint32_t generation = 0;  // 0 while free; else its lower half is not 0
  uint32_t slot = 0;        // its own; while free, that of the next free one
};

// acquire() returns an object as it was left at release(), with its links set: the caller resets the rest.
template <class T>
class SlotTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t acquire() {
    if (first_free_ == kNone) grow();
    uint32_t slot = first_free_;
    T& object = (*this)[slot];
    first_free_ = object.slot;
    object.slot = slot;
    // Never 0, nor 0 in its lower half: who keeps no more of it than that still knows a free slot from its own.
    if ((++last_generation_ & 0xffff) == 0) ++last_generation_;
    object.generation = last_generation_;
    ++size_;
    return slot;
  }
  void release(uint32_t slot) {
    T& object = (*this)[slot];
    PEAL_ASSERT(object.generation != 0, "slot {} released twice", slot);
    object.generation = 0;
    object.slot = first_free_;
    first_free_ = slot;
    --size_;
  }
  T& operator[](uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  const T& operator[](uint32_t slot) const { return chunks_[slot / kChunk][slot % kChunk]; }
  // Null when the id is dead or was never given out.
  T* find(uint32_t slot, uint32_t generation) {
    if (slot >= capacity_ || generation == 0) [[unlikely]]
      return nullptr;
    T& object = (*this)[slot];
    return object.generation == generation ? &object : nullptr;
  }
  const T* find(uint32_t slot, uint32_t generation) const {
    return const_cast<SlotTable*>(this)->find(slot, generation);
  }
  size_t size() const { return size_; }
  uint32_t capacity() const { return capacity_; }

 private:
  static constexpr uint32_t kChunk = 64;

  void grow() {
    chunks_.push_back(std::make_unique<T[]>(kChunk));
    for (uint32_t i = kChunk; i-- > 0;) {
      uint32_t slot = capacity_ + i;
      chunks_.back()[i].generation = 0;
      chunks_.back()[i].slot = first_free_;
      first_free_ = slot;
    }
    capacity_ += kChunk;
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  uint32_t first_free_ = kNone;
  uint32_t last_generation_ = 0;
  uint32_t capacity_ = 0;
  size_t size_ = 0;
};

}  // namespace peal
