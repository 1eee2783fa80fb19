// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/block_pool.h>

#include <cxxabi.h>

#include <new>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/memory_budget.h>

// The ABI's name for this program or library. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace peal {
namespace {

constexpr std::align_val_t kDataAlignment{64};

void delete_block(Block* block) {
  if (block->shared == nullptr) ::operator delete(block->data, kDataAlignment);
  delete block;
}

}  // namespace

BlockPool::Returned BlockPool::abandoned_{};

SharedBytes share_bytes(std::string_view bytes) {
  auto view = std::as_bytes(std::span(bytes));
  return std::make_shared<const std::vector<std::byte>>(view.begin(), view.end());
}

// A thread's objects end in the reverse order of their making. One that asks for the pool after the pool has ended gets
// a new one, which ends right after it: each pool has an end of its own, where a thread_local could not be made twice.
BlockPool& BlockPool::make_here() {
  auto* pool = new BlockPool;
  current_ = pool;
  abi::__cxa_thread_atexit(
      [](void* ended) {
        current_ = nullptr;
        static_cast<BlockPool*>(ended)->abandon();
      },
      pool, static_cast<void*>(&__dso_handle));
  return *pool;
}

BlockPool::~BlockPool() { PEAL_ASSERT(blocks_ == 0, "{} blocks of a pool that goes", blocks_); }

Block* BlockPool::add(Block* block) {
  ++blocks_;
  bytes_ += block->capacity_bytes;
  return block;
}

Block* BlockPool::acquire_slow(uint32_t bytes) {
  take_returned(nullptr);
  bool measured = bytes > kLargeBlockBytes;
  BlockList& list = measured ? none_ : bytes <= kSmallBlockBytes ? small_ : large_;
  if (list.head != nullptr) return acquire(bytes);
  uint32_t capacity = measured ? bytes : list.block_bytes;
  auto* data = static_cast<std::byte*>(::operator new(capacity, kDataAlignment));
  ++stats_.allocations;
  if (MemoryBudget::grew(capacity) && listener_ != nullptr) listener_->on_memory_short();
  return add(new Block{this, data, capacity, 1, &list, nullptr, nullptr});
}

Block* BlockPool::wrap(SharedBytes shared) {
  PEAL_ASSERT(shared->size() <= UINT32_MAX, "{} shared bytes in one block", shared->size());
  auto size = static_cast<uint32_t>(shared->size());
  // Never written through: a buffer finds no room in a shared block.
  auto* data = const_cast<std::byte*>(shared->data());
  return add(new Block{this, data, size, 1, &none_, nullptr, std::move(shared)});
}

void BlockPool::give_back(Block* block) {
  if (block->home != &none_) ++stats_.given_back;
  --blocks_;
  bytes_ -= block->capacity_bytes;
  if (block->shared == nullptr) MemoryBudget::shrank(block->capacity_bytes);
  delete_block(block);
}

void BlockPool::release_elsewhere(Block* block) {
  Returned* head = returned_.load(std::memory_order_acquire);
  if (head != &abandoned_) {
    auto* mine = new Returned{block, head};
    while (mine->next != &abandoned_) {
      if (returned_.compare_exchange_weak(mine->next, mine, std::memory_order_acq_rel)) return;
    }
    delete mine;
  }
  bool last;
  {
    std::lock_guard lock(orphan_mutex_);
    ++stats_.returned_by_others;
    unref(block);
    last = blocks_ == 0;
  }
  if (last) delete this;
}

// Releases what other threads have pushed, leaving `instead` in its place.
void BlockPool::take_returned(Returned* instead) {
  if (returned_.load(std::memory_order_relaxed) == instead) return;
  Returned* chain = returned_.exchange(instead, std::memory_order_acq_rel);
  while (chain != nullptr) {
    Returned* next = chain->next;
    ++stats_.returned_by_others;
    unref(chain->block);
    delete chain;
    chain = next;
  }
}

void BlockPool::trim_list(BlockList& list, size_t keep) {
  while (list.head != nullptr && list.bound - list.room > keep) {
    Block* block = std::exchange(list.head, list.head->next_free);
    ++list.room;
    give_back(block);
  }
}

void BlockPool::trim(size_t keep) {
  take_returned(nullptr);
  trim_list(large_, keep);
  trim_list(small_, keep);
}

void BlockPool::set_bound(uint32_t blocks) {
  trim_list(large_, blocks);
  large_.room = blocks - (large_.bound - large_.room);
  large_.bound = blocks;
}

void BlockPool::abandon() {
  bool empty;
  {
    std::lock_guard lock(orphan_mutex_);
    take_returned(&abandoned_);
    trim_list(large_, 0);
    trim_list(small_, 0);
    large_.room = small_.room = 0;
    empty = blocks_ == 0;
  }
  if (empty) delete this;
}

BlockStats BlockPool::stats() const {
  size_t large = large_.bound - large_.room;
  size_t small = small_.bound - small_.room;
  BlockStats stats = stats_;
  stats.blocks_free = large + small;
  stats.blocks_in_use = blocks_ - stats.blocks_free;
  stats.bytes_in_use = bytes_ - large * kLargeBlockBytes - small * kSmallBlockBytes;
  return stats;
}

}  // namespace peal
