// SPDX-License-Identifier: BSD-3-Clause
// SlotTable stores objects that never move and finds them by {slot, generation} in a few instructions. The slot that
// was released last is reused first. It gets a new generation, so find() returns null for an id of the released object.
// A table is used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <peal/base/assert.h>

namespace peal {

// The members that SlotTable uses in each object. A type T must have these members, for example by inheritance.
struct SlotLinks {
  uint32_t generation = 0;  // 0 while the slot is free; otherwise its lower 16 bits are never 0
  uint32_t slot = 0;        // the object's own slot; while free, the next free slot
};

// A table of objects of type T, which never shrinks. Objects are constructed when the table grows by a chunk of slots.
// They are destroyed with the table, not at release().
template <class T>
class SlotTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Takes a free slot and returns its number. The object in the slot gets a new generation. Its other members have the
  // values that they had at release(), so the caller has to reset them.
  uint32_t acquire() {
    if (first_free_ == kNone) grow();
    uint32_t slot = first_free_;
    T& object = (*this)[slot];
    first_free_ = object.slot;
    object.slot = slot;
    // The lower 16 bits must not be 0. Code that stores only these 16 bits can then distinguish an id from a free slot.
    if ((++last_generation_ & 0xffff) == 0) ++last_generation_;
    object.generation = last_generation_;
    ++size_;
    return slot;
  }

  // Frees the slot. All ids of its object become invalid. Asserts if the slot is already free.
  void release(uint32_t slot) {
    T& object = (*this)[slot];
    PEAL_ASSERT(object.generation != 0, "slot {} released twice", slot);
    object.generation = 0;
    object.slot = first_free_;
    first_free_ = slot;
    --size_;
  }

  // Returns the object in a slot, whether the slot is free or in use. `slot` must be below capacity(), which is not
  // checked.
  T& operator[](uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  const T& operator[](uint32_t slot) const { return chunks_[slot / kChunk][slot % kChunk]; }

  // Returns the object whose id is `slot` and `generation`. Returns null if that object was released, or if no object
  // ever had the id.
  T* find(uint32_t slot, uint32_t generation) {
    if (slot >= capacity_ || generation == 0) [[unlikely]]
      return nullptr;
    T& object = (*this)[slot];
    return object.generation == generation ? &object : nullptr;
  }
  const T* find(uint32_t slot, uint32_t generation) const {
    return const_cast<SlotTable*>(this)->find(slot, generation);
  }

  // size() returns the number of slots that are in use, capacity() the number of all slots.
  size_t size() const { return size_; }
  uint32_t capacity() const { return capacity_; }

 private:
  static constexpr uint32_t kChunk = 64;

  // Adds one chunk of free slots.
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
