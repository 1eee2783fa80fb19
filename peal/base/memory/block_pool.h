// SPDX-License-Identifier: BSD-3-Clause
// Blocks are the memory that bytes travel in; a Buffer (buffer.h) is a chain of parts of blocks.
//
// Each thread has one pool, so each loop has one, touched by that thread alone. References may be copied and released
// on any thread: whoever has the only one has the block for himself, and more than one are counted by atomic steps. A
// block whose last reference goes elsewhere waits on its owner's return stack, and the owner takes it in when it next
// runs short of blocks or trims. The owner may be asleep: beyond 1 MiB that waits, blocks go back to malloc at once. A
// pool whose thread has ended lives until its last outstanding block is released.
//
// Why these sizes: a block holds a round 16 KiB message with room to spare, else every such message costs two reads
// and two sends. Headers live apart from the data, so the data stays a whole number of pages.
// Free blocks are kept last in, first out, so that the next receive writes into a warm one.
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

inline constexpr uint32_t kLargeBlockBytes = 20 * 1024;
inline constexpr uint32_t kSmallBlockBytes = 512;

// Immutable bytes that many connections, on any loops, may send without a copy each. Cheap to copy; any thread. The
// budget counts those that share_bytes() has made, once.
using SharedBytes = std::shared_ptr<const std::string>;
SharedBytes share_bytes(std::string bytes);

struct BlockList;

struct Block {
  BlockPool* owner;
  std::byte* data;
  uint32_t capacity_bytes;
  std::atomic<uint32_t> references;  // by buffers and engines; of a free one 1
  BlockList* home;                   // where it is kept when free
  Block* next_free;                  // there, or on the return stack
  SharedBytes shared;                // set when `data` points into somebody's SharedBytes
};

// Free blocks of one size, the warmest first.
struct BlockList {
  Block* head = nullptr;
  uint32_t block_bytes;
  uint32_t room;   // how many more it keeps; the rest go back to malloc
  uint32_t bound;  // the most it keeps
};

struct BlockStats {
  uint64_t blocks_in_use = 0;  // referenced by a buffer or an engine
  uint64_t blocks_free = 0;    // kept warm
  uint64_t bytes_in_use = 0;   // capacity, not content
  uint64_t allocations = 0;    // times the pool had to ask malloc for a block
  uint64_t given_back = 0;     // times it returned one to malloc, being beyond its bound
  uint64_t returned_by_others = 0;
};

class BlockPool {
 public:
  // The calling thread's pool, made at the first call; destructors of thread_locals and statics may call it too.
  static BlockPool& here() {
    BlockPool* pool = current_;
    return pool != nullptr ? *pool : create_for_this_thread();
  }

  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // A block of at least `bytes`, with one reference, the caller's. Beyond kLargeBlockBytes it is made to measure and
  // never kept.
  Block* acquire(uint32_t bytes) {
    BlockList& list = bytes <= kSmallBlockBytes ? small_ : large_;
    Block* block = list.head;
    if (block == nullptr || bytes > kLargeBlockBytes) [[unlikely]]
      return acquire_returned_or_new(bytes);
    list.head = block->next_free;
    ++list.room;
    return block;
  }
  // A block that names a part of shared bytes instead of owning its data.
  Block* wrap(SharedBytes shared, size_t offset, uint32_t bytes);

  // Takes one reference more, for somebody who has one.
  static void add_reference(Block* block) { block->references.fetch_add(1, std::memory_order_relaxed); }
  // Whoever has a reference has the only one: nobody else can make another.
  static bool is_sole(const Block* block) { return block->references.load(std::memory_order_acquire) == 1; }
  // Gives up one reference; on the owner's thread.
  void unref(Block* block) {
    if (drop_reference(block)) put_on_free_list(block);
  }
  // Gives up one reference from whatever thread this is. Never fails.
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
  static bool owns(const Block* block) { return block->owner == current_; }

  // Takes in what other threads released and gives malloc back all free blocks beyond `keep`.
  void trim(size_t free_blocks = 0);

  // Free large blocks kept at most; more go back to malloc. The default is 5 MiB, about a core's share of cache.
  void set_bound(uint32_t blocks);
  // Who is told when this pool grows while the process is short of memory (memory_budget.h); null: nobody.
  void set_listener(MemoryListener* listener) { listener_ = listener; }
  // As of now; call on the pool's own thread.
  BlockStats stats() const;

 private:
  BlockPool() = default;
  ~BlockPool();
  static BlockPool& create_for_this_thread();
  // True when it was the last.
  static bool drop_reference(Block* block) {
    if (is_sole(block)) [[likely]]
      return true;
    if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    block->references.store(1, std::memory_order_relaxed);
    return true;
  }
  // Nobody refers to it any more; on the owner's thread.
  void put_on_free_list(Block* block) {
    BlockList* home = block->home;
    if (home->room == 0) [[unlikely]]
      return delete_own_block(block);
    --home->room;
    block->next_free = home->head;
    home->head = block;
  }
  Block* acquire_returned_or_new(uint32_t bytes);
  Block* count_block(Block* block);
  void delete_own_block(Block* block);
  void return_to_owner(Block* block);
  void take_returned();
  void take_returned(Block* instead);
  void trim_list(BlockList& list, size_t free_blocks);
  void on_thread_end();

  static constexpr size_t kMostReturnedBytes = 1024 * 1024;
  // No block: what returned_ points to once the thread has ended.
  Block* ended_mark() { return reinterpret_cast<Block*>(this); }

  [[gnu::tls_model("initial-exec")]] static thread_local constinit BlockPool* current_;

  BlockList large_{.block_bytes = kLargeBlockBytes, .room = 256, .bound = 256};
  BlockList small_{.block_bytes = kSmallBlockBytes, .room = 4096, .bound = 4096};
  BlockList never_kept_{.block_bytes = 0, .room = 0, .bound = 0};  // home of what is made to measure or shared
  size_t blocks_ = 0;                                              // all there are, free ones included
  size_t bytes_ = 0;
  MemoryListener* listener_ = nullptr;
  BlockStats stats_;                        // the counters; stats() works out the rest
  std::atomic<Block*> returned_ = nullptr;  // pushed by any thread, taken whole by the owner
  std::atomic<size_t> returned_bytes_ = 0;  // released elsewhere since it was last taken
  std::mutex mutex_;                        // guards the next two, and everything once the thread has ended
  size_t deleted_elsewhere_blocks_ = 0;     // given back to malloc elsewhere, and still in blocks_
  size_t deleted_elsewhere_bytes_ = 0;
};

inline thread_local constinit BlockPool* BlockPool::current_ = nullptr;

}  // namespace peal
