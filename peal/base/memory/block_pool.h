// SPDX-License-Identifier: BSD-3-Clause
// BlockPool hands out blocks: the memory that received and sent bytes are stored in. A Buffer (buffer.h) is a chain of
// parts of blocks.
//
// Threads and owners:
//   - Each thread has one pool, and so each loop has one. Only that thread uses the pool.
//   - A block has a reference count, and references may be copied and released on any thread.
//   - When the last reference is released on another thread, the block is pushed onto the return stack of its pool. The
//     pool takes such blocks back when it has no free block or is trimmed.
//   - The pool's thread may sleep for long. If more than 1 MiB is on the return stack, further blocks are freed at
//     once.
//   - A pool whose thread has ended is destroyed when its last block has been released.
//
// Sizes: a large block holds a message of 16 KiB and its header. With blocks of 16 KiB, each such message would need
// two reads and two sends. The Block structs are allocated apart from the data, so the data is a whole number of pages.
//
// The block that was freed last is used first, because its memory is most likely still in the processor's cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace peal {

class BlockPool;
class MemoryListener;

// The sizes of large and small blocks, in bytes. A pool keeps only blocks of these two sizes for reuse.
inline constexpr uint32_t kLargeBlockBytes = 20 * 1024;
inline constexpr uint32_t kSmallBlockBytes = 512;

// Immutable bytes that many connections can send without a copy for each of them. Any thread.
using SharedBytes = std::shared_ptr<const std::string>;

// Makes shared bytes from a string. The memory budget (memory_budget.h) counts their memory once until the last
// reference is released. Shared bytes that were made in another way are not counted.
SharedBytes share_bytes(std::string bytes);

struct BlockList;

// One block with its reference count. Buffers and engines hold the references.
struct Block {
  BlockPool* owner;  // the pool that made the block
  std::byte* data;
  uint32_t capacity_bytes;
  std::atomic<uint32_t> references;  // 1 while the block is free
  BlockList* home;                   // the list of free blocks that the block returns to
  Block* next_free;                  // the next block of that list, or of the return stack
  SharedBytes shared;                // if set, `data` points into these bytes and must not be written
};

// Free blocks of one size. The block that was freed last comes first.
struct BlockList {
  Block* head = nullptr;
  uint32_t block_bytes;
  uint32_t room;   // how many more blocks the list may take; blocks beyond that are freed
  uint32_t bound;  // how many blocks the list may hold
};

// Counters of one pool.
struct BlockStats {
  uint64_t blocks_in_use = 0;  // blocks that a buffer or an engine references
  uint64_t blocks_free = 0;    // blocks that are kept for reuse
  uint64_t bytes_in_use = 0;   // the capacity of the blocks in use, not their content
  uint64_t allocations = 0;    // blocks that the pool has allocated
  uint64_t given_back = 0;     // kept sizes that were freed on this thread: a list was full, or trim() or set_bound()
  uint64_t returned_by_others = 0;  // blocks whose last reference was released on another thread
};

class BlockPool {
 public:
  // Returns the pool of the calling thread and creates it at the first call. Destructors of thread_local and static
  // objects may call it too.
  static BlockPool& here() {
    BlockPool* pool = current_;
    return pool != nullptr ? *pool : create_for_this_thread();
  }

  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Returns a block of at least `bytes`, with one reference, which the caller owns. A block of more than
  // kLargeBlockBytes has exactly the size `bytes` and is freed after use.
  Block* acquire(uint32_t bytes) {
    BlockList& list = bytes <= kSmallBlockBytes ? small_ : large_;
    Block* block = list.head;
    if (block == nullptr || bytes > kLargeBlockBytes) [[unlikely]]
      return acquire_returned_or_new(bytes);
    list.head = block->next_free;
    ++list.room;
    return block;
  }

  // Returns a block whose data is the part of `shared` that begins at `offset` and has `bytes` bytes. Nothing is
  // copied. The block has one reference, which the caller owns. Asserts if the part exceeds the shared bytes.
  Block* wrap(SharedBytes shared, size_t offset, uint32_t bytes);

  // Adds a reference. The caller must already hold a reference to the block. Any thread.
  static void add_reference(Block* block) { block->references.fetch_add(1, std::memory_order_relaxed); }

  // True if the caller holds the only reference. The result then stays true until the caller adds a reference, since
  // only the owner of a reference can add one. Any thread.
  static bool is_sole(const Block* block) { return block->references.load(std::memory_order_acquire) == 1; }

  // Releases one reference. May be called only on the thread of the block's pool.
  void unref(Block* block) {
    if (drop_reference(block)) put_on_free_list(block);
  }

  // Releases one reference. Any thread.
  static void release(Block* block) {
    if (!drop_reference(block)) [[unlikely]]
      return;
    BlockPool* owner = block->owner;
    if (owner == current_) [[likely]] {
      owner->put_on_free_list(block);
    } else {
      owner->return_to_owner(block);
    }
  }

  // True if the block belongs to the pool of the calling thread.
  static bool owns(const Block* block) { return block->owner == current_; }

  // Takes back the blocks that other threads have released. Then frees all free blocks beyond `free_blocks` of each
  // size.
  void trim(size_t free_blocks = 0);

  // Sets how many free large blocks the pool keeps at most; further ones are freed. The default is 256 blocks, which
  // are 5 MiB: about one core's share of the cache.
  void set_bound(uint32_t blocks);

  // Sets the listener that is called when this pool allocates a block while the process is above its soft memory mark
  // (memory_budget.h). Null means no listener. The listener must outlive the pool or be replaced.
  void set_listener(MemoryListener* listener) { listener_ = listener; }

  // Returns the counters. May be called only on the pool's thread.
  BlockStats stats() const;

 private:
  BlockPool() = default;
  ~BlockPool();

  // Creates the calling thread's pool and registers the function that ends the pool together with the thread.
  static BlockPool& create_for_this_thread();

  // Removes one reference. Returns true if that was the last reference: the caller then has to free the block or put it
  // on a free list.
  static bool drop_reference(Block* block) {
    if (is_sole(block)) [[likely]]
      return true;
    if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    block->references.store(1, std::memory_order_relaxed);
    return true;
  }

  // Puts a block without references on its list of free blocks, or frees it if the list is full. May be called only on
  // the pool's thread.
  void put_on_free_list(Block* block) {
    BlockList* home = block->home;
    if (home->room == 0) [[unlikely]]
      return delete_own_block(block);
    --home->room;
    block->next_free = home->head;
    home->head = block;
  }

  // Does the work of acquire() if the free list is empty, or if blocks of this size are not kept. Takes back the blocks
  // that other threads have released, and allocates a block if that does not help.
  Block* acquire_returned_or_new(uint32_t bytes);

  // Adds a new block to the counters and returns it.
  Block* count_block(Block* block);

  // Removes a block from the counters and frees it. May be called only on the pool's thread.
  void delete_own_block(Block* block);

  // Pushes a block without references onto the return stack of its pool, or frees it. May be called on every thread
  // except the pool's.
  void return_to_owner(Block* block);

  // Both forms of take_returned() put the blocks of the return stack on the free lists. take_returned(instead) also
  // replaces the stack by `instead`, and its caller must hold the mutex.
  void take_returned();
  void take_returned(Block* instead);

  // Frees blocks of the list until at most `free_blocks` are left.
  void trim_list(BlockList& list, size_t free_blocks);

  // Called when the pool's thread ends. Frees all free blocks, and destroys the pool if no block is in use.
  void on_thread_end();

  // The limit of the return stack, in bytes. While the stack has more, other threads free blocks instead of pushing
  // them.
  static constexpr size_t kMostReturnedBytes = 1024 * 1024;

  // The value of returned_ after the pool's thread has ended. It is an address that no block has.
  Block* ended_mark() { return reinterpret_cast<Block*>(this); }

  // The pool of the calling thread, or null.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit BlockPool* current_;

  BlockList large_{.block_bytes = kLargeBlockBytes, .room = 256, .bound = 256};
  BlockList small_{.block_bytes = kSmallBlockBytes, .room = 4096, .bound = 4096};
  BlockList never_kept_{.block_bytes = 0, .room = 0, .bound = 0};  // of blocks with other sizes
  size_t blocks_ = 0;                                              // all blocks of the pool, free ones included
  size_t bytes_ = 0;                                               // their capacity
  MemoryListener* listener_ = nullptr;
  BlockStats stats_;                        // stats() computes blocks_free and the `in_use` fields
  std::atomic<Block*> returned_ = nullptr;  // the return stack: any thread pushes, the owner takes all
  std::atomic<size_t> returned_bytes_ = 0;  // bytes released on other threads since the stack was last taken

  // Guards the two members below. After the pool's thread has ended, it guards all members.
  std::mutex mutex_;
  size_t deleted_elsewhere_blocks_ = 0;  // freed on other threads, but still counted in blocks_ and bytes_
  size_t deleted_elsewhere_bytes_ = 0;
};

inline thread_local constinit BlockPool* BlockPool::current_ = nullptr;

}  // namespace peal
