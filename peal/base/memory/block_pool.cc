// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/memory/block_pool.h>

#include <cxxabi.h>

#include <new>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/memory/memory_budget.h>
#include <peal/base/memory/memory_charge.h>

// Identifies this program or library to the C++ runtime. The Itanium C++ ABI defines the name.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace peal {
namespace {

constexpr std::align_val_t kDataAlignment{64};

// Frees the block, and its data unless the data belongs to shared bytes. Any thread.
void delete_block(Block* block) {
  if (block->shared == nullptr) {
    MemoryBudget::shrank(block->capacity_bytes);
    ::operator delete(block->data, kDataAlignment);
  }
  delete block;
}

}  // namespace

SharedBytes share_bytes(std::string bytes) {
  struct Counted {
    explicit Counted(std::string&& bytes) : content(std::move(bytes)) { charge.set(content.capacity()); }
    const std::string content;
    MemoryCharge charge;
  };
  auto counted = std::make_shared<const Counted>(std::move(bytes));
  return {counted, &counted->content};
}

// Objects of a thread are destroyed in the reverse order of their construction. A destructor may need a pool after the
// thread's pool has ended. Such a destructor gets a new pool, which ends directly after the destructor.
// A thread_local object cannot be constructed twice in one thread. Therefore each pool registers a function of its own
// with the C++ runtime, which ends this pool.
BlockPool& BlockPool::create_for_this_thread() {
  auto* pool = new BlockPool;
  current_ = pool;
  abi::__cxa_thread_atexit(
      [](void* ended) {
        current_ = nullptr;
        static_cast<BlockPool*>(ended)->on_thread_end();
      },
      pool, static_cast<void*>(&__dso_handle));
  return *pool;
}

BlockPool::~BlockPool() {
  PEAL_ASSERT(blocks_ == deleted_elsewhere_blocks_, "a block pool is destroyed while {} of its blocks are not released",
              blocks_);
}

Block* BlockPool::count_block(Block* block) {
  ++blocks_;
  bytes_ += block->capacity_bytes;
  return block;
}

Block* BlockPool::acquire_returned_or_new(uint32_t bytes) {
  take_returned();
  bool measured = bytes > kLargeBlockBytes;
  BlockList& list = measured ? never_kept_ : bytes <= kSmallBlockBytes ? small_ : large_;
  if (list.head != nullptr) return acquire(bytes);
  uint32_t capacity = measured ? bytes : list.block_bytes;
  auto* data = static_cast<std::byte*>(::operator new(capacity, kDataAlignment));
  ++stats_.allocations;
  if (MemoryBudget::grew(capacity) && listener_ != nullptr) listener_->on_memory_short();
  return count_block(new Block{this, data, capacity, 1, &list, nullptr, nullptr});
}

Block* BlockPool::wrap(SharedBytes shared, size_t offset, uint32_t bytes) {
  PEAL_ASSERT(offset + bytes <= shared->size(), "a part of {} bytes at offset {} does not fit into {} shared bytes",
              bytes, offset, shared->size());
  // The const_cast is safe, because a buffer never writes into a block that has `shared` set.
  auto* data = reinterpret_cast<std::byte*>(const_cast<char*>(shared->data() + offset));
  return count_block(new Block{this, data, bytes, 1, &never_kept_, nullptr, std::move(shared)});
}

void BlockPool::delete_own_block(Block* block) {
  if (block->home != &never_kept_) ++stats_.given_back;
  --blocks_;
  bytes_ -= block->capacity_bytes;
  delete_block(block);
}

void BlockPool::return_to_owner(Block* block) {
  const uint32_t bytes = block->capacity_bytes;
  const size_t waiting = returned_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (waiting <= kMostReturnedBytes && block->shared == nullptr) {
    block->next_free = returned_.load(std::memory_order_relaxed);
    while (block->next_free != ended_mark()) {
      if (returned_.compare_exchange_weak(block->next_free, block, std::memory_order_release)) return;
    }
  }
  delete_block(block);
  bool last;
  {
    const std::lock_guard lock(mutex_);
    ++deleted_elsewhere_blocks_;
    deleted_elsewhere_bytes_ += bytes;
    last = returned_.load(std::memory_order_relaxed) == ended_mark() && deleted_elsewhere_blocks_ == blocks_;
  }
  if (last) delete this;
}

void BlockPool::take_returned(Block* instead) {
  returned_bytes_.store(0, std::memory_order_relaxed);
  for (Block* block = returned_.exchange(instead, std::memory_order_acquire); block != nullptr;) {
    ++stats_.returned_by_others;
    put_on_free_list(std::exchange(block, block->next_free));
  }
  blocks_ -= deleted_elsewhere_blocks_;
  bytes_ -= deleted_elsewhere_bytes_;
  stats_.returned_by_others += deleted_elsewhere_blocks_;
  deleted_elsewhere_blocks_ = 0;
  deleted_elsewhere_bytes_ = 0;
}

void BlockPool::take_returned() {
  // Both members are read, because another thread first adds to returned_bytes_ and only then pushes its block. Between
  // these two steps, this thread may have set returned_bytes_ to 0. A thread that frees its block instead of pushing it
  // adds only to returned_bytes_.
  if (returned_.load(std::memory_order_relaxed) == nullptr && returned_bytes_.load(std::memory_order_relaxed) == 0)
    return;
  const std::lock_guard lock(mutex_);
  take_returned(nullptr);
}

void BlockPool::trim_list(BlockList& list, size_t free_blocks) {
  while (list.head != nullptr && list.bound - list.room > free_blocks) {
    Block* block = std::exchange(list.head, list.head->next_free);
    ++list.room;
    delete_own_block(block);
  }
}

void BlockPool::trim(size_t free_blocks) {
  take_returned();
  trim_list(large_, free_blocks);
  trim_list(small_, free_blocks);
}

void BlockPool::set_bound(uint32_t blocks) {
  trim_list(large_, blocks);
  large_.room = blocks - (large_.bound - large_.room);
  large_.bound = blocks;
}

void BlockPool::on_thread_end() {
  bool empty;
  {
    const std::lock_guard lock(mutex_);
    take_returned(ended_mark());
    trim_list(large_, 0);
    trim_list(small_, 0);
    large_.room = 0;
    small_.room = 0;
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
