// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/memory/block_pool.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/memory/memory_budget.h>

namespace peal {
namespace {

// Runs `body` on a new thread, which has a new pool.
template <class Body>
void on_fresh_pool(Body body) {
  std::thread([&] { body(BlockPool::here()); }).join();
}

TEST(BlockPool, one_for_each_thread) {
  BlockPool* mine = &BlockPool::here();
  EXPECT_EQ(mine, &BlockPool::here());
  on_fresh_pool([mine](BlockPool& other) { EXPECT_NE(&other, mine); });
}

TEST(BlockPool, small_requests_get_small_blocks) {
  on_fresh_pool([](BlockPool& pool) {
    for (auto [asked, got] : {std::pair{1U, kSmallBlockBytes},
                              {kSmallBlockBytes, kSmallBlockBytes},
                              {kSmallBlockBytes + 1, kLargeBlockBytes},
                              {kLargeBlockBytes, kLargeBlockBytes},
                              {kLargeBlockBytes + 1, kLargeBlockBytes + 1},
                              {3'000'000U, 3'000'000U}}) {
      Block* block = pool.acquire(asked);
      EXPECT_EQ(block->capacity_bytes, got);
      EXPECT_EQ(block->references, 1U);
      EXPECT_TRUE(BlockPool::owns(block));
      std::memset(block->data, 0xa5, block->capacity_bytes);
      EXPECT_EQ(pool.stats().bytes_in_use, got);
      EXPECT_EQ(pool.stats().blocks_in_use, 1U);
      pool.unref(block);
      EXPECT_EQ(pool.stats().bytes_in_use, 0U);
      EXPECT_EQ(pool.stats().blocks_in_use, 0U);
    }
    EXPECT_EQ(pool.stats().allocations, 4U);
    EXPECT_EQ(pool.stats().blocks_free, 2U) << "what is made to measure is not kept";
    EXPECT_EQ(pool.stats().given_back, 0U);
  });
}

TEST(BlockPool, last_in_is_first_out) {
  on_fresh_pool([](BlockPool& pool) {
    Block* one = pool.acquire(kLargeBlockBytes);
    Block* other = pool.acquire(kLargeBlockBytes);
    EXPECT_NE(one->data, other->data);
    pool.unref(other);
    pool.unref(one);
    EXPECT_EQ(pool.acquire(kLargeBlockBytes), one);
    EXPECT_EQ(pool.acquire(kLargeBlockBytes), other);
    EXPECT_EQ(pool.stats().allocations, 2U);
    pool.unref(one);
    pool.unref(other);
  });
}

TEST(BlockPool, block_stays_until_its_last_reference) {
  on_fresh_pool([](BlockPool& pool) {
    Block* block = pool.acquire(1);
    BlockPool::add_reference(block);
    pool.unref(block);
    EXPECT_EQ(pool.stats().blocks_in_use, 1U);
    BlockPool::release(block);
    EXPECT_EQ(pool.stats().blocks_in_use, 0U);
    EXPECT_EQ(pool.stats().blocks_free, 1U);
  });
}

TEST(BlockPool, gives_back_what_is_beyond_its_bound) {
  on_fresh_pool([](BlockPool& pool) {
    pool.set_bound(3);
    std::vector<Block*> blocks;
    for (int i = 0; i < 10; ++i) blocks.push_back(pool.acquire(kLargeBlockBytes));
    for (Block* block : blocks) pool.unref(block);
    EXPECT_EQ(pool.stats().blocks_free, 3U);
    EXPECT_EQ(pool.stats().given_back, 7U);
    pool.set_bound(1);
    EXPECT_EQ(pool.stats().blocks_free, 1U);
    pool.set_bound(5);
    blocks.clear();
    for (int i = 0; i < 10; ++i) blocks.push_back(pool.acquire(kLargeBlockBytes));
    for (Block* block : blocks) pool.unref(block);
    EXPECT_EQ(pool.stats().blocks_free, 5U);
    EXPECT_EQ(pool.stats().bytes_in_use, 0U);
  });
}

TEST(BlockPool, bound_set_while_more_are_in_use) {
  on_fresh_pool([](BlockPool& pool) {
    std::vector<Block*> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(pool.acquire(kLargeBlockBytes));
    pool.set_bound(0);
    EXPECT_EQ(pool.stats().blocks_in_use, 20U);
    for (Block* block : blocks) pool.unref(block);
    EXPECT_EQ(pool.stats().blocks_free, 0U);
    EXPECT_EQ(pool.stats().given_back, 20U);
  });
}

TEST(BlockPool, trim_keeps_as_many_as_it_is_told) {
  on_fresh_pool([](BlockPool& pool) {
    std::vector<Block*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(pool.acquire(i % 2 == 0 ? 1 : kLargeBlockBytes));
    for (Block* block : blocks) pool.unref(block);
    pool.trim(SIZE_MAX);
    EXPECT_EQ(pool.stats().blocks_free, 8U);
    pool.trim(3);
    EXPECT_EQ(pool.stats().blocks_free, 6U) << "three of each size";
    pool.trim();
    EXPECT_EQ(pool.stats().blocks_free, 0U);
    EXPECT_EQ(pool.stats().given_back, 8U);
  });
}

TEST(BlockPool, shared_bytes_live_as_long_as_their_last_block) {
  SharedBytes shared = share_bytes("one copy for all");
  EXPECT_EQ(shared->size(), 16U);
  on_fresh_pool([&](BlockPool& pool) {
    Block* one = pool.wrap(shared, 0, 16);
    Block* other = pool.wrap(shared, 4, 12);
    EXPECT_EQ(one->data + 4, other->data);
    EXPECT_EQ(one->capacity_bytes, 16U);
    EXPECT_EQ(pool.stats().bytes_in_use, 28U);
    EXPECT_EQ(shared.use_count(), 3);
    pool.unref(one);
    BlockPool::release(other);
    EXPECT_EQ(pool.stats().blocks_free, 0U);
    EXPECT_EQ(pool.stats().blocks_in_use, 0U);
  });
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(BlockPool, released_on_another_thread_comes_home) {
  BlockPool& pool = BlockPool::here();
  pool.trim();
  uint64_t in_use = pool.stats().blocks_in_use;
  uint64_t returned = pool.stats().returned_by_others;
  std::vector<Block*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.acquire(i % 2 == 0 ? 1 : kLargeBlockBytes));
  std::thread([&] {
    EXPECT_FALSE(BlockPool::owns(blocks[0]));
    for (Block* block : blocks) BlockPool::release(block);
  }).join();
  EXPECT_EQ(pool.stats().blocks_in_use, in_use + 100) << "they wait until the owner takes them in";
  uint64_t allocations = pool.stats().allocations;
  Block* again = pool.acquire(kLargeBlockBytes);
  EXPECT_EQ(pool.stats().allocations, allocations) << "running short takes them in";
  EXPECT_EQ(pool.stats().blocks_in_use, in_use + 1);
  EXPECT_EQ(pool.stats().returned_by_others - returned, 100U);
  pool.unref(again);
}

TEST(BlockPool, trim_takes_in_what_others_released) {
  BlockPool& pool = BlockPool::here();
  uint64_t in_use = pool.stats().blocks_in_use;
  Block* block = pool.acquire(1);
  std::thread([block] { BlockPool::release(block); }).join();
  pool.trim(SIZE_MAX);
  EXPECT_EQ(pool.stats().blocks_in_use, in_use);
}

TEST(BlockPool, references_may_be_made_and_released_on_any_thread) {
  on_fresh_pool([](BlockPool& pool) {
    for (int round = 0; round < 200; ++round) {
      Block* block = pool.acquire(1);
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) {
        BlockPool::add_reference(block);
        threads.emplace_back([block] {
          BlockPool::add_reference(block);
          BlockPool::release(block);
          EXPECT_GT(block->capacity_bytes, 0U);
          BlockPool::release(block);
        });
      }
      BlockPool::release(block);
      for (auto& thread : threads) thread.join();
    }
    pool.trim();
    EXPECT_EQ(pool.stats().blocks_in_use, 0U);
  });
}

TEST(BlockPool, much_that_others_release_goes_back_to_malloc_at_once) {
  on_fresh_pool([](BlockPool& pool) {
    SharedBytes shared = share_bytes("shared");
    const uint64_t held_before = MemoryBudget::held_bytes();
    std::vector<Block*> blocks;
    for (int i = 0; i < 1'000; ++i) blocks.push_back(pool.acquire(kLargeBlockBytes));
    blocks.push_back(pool.wrap(shared, 0, 6));
    BlockPool::add_reference(blocks[500]);
    std::thread([&] {
      for (Block* block : blocks) BlockPool::release(block);
    }).join();
    // The pool's own thread has done nothing since then.
    EXPECT_EQ(shared.use_count(), 1);
    EXPECT_LE(MemoryBudget::held_bytes(), held_before + 1024 * 1024 + 2 * kLargeBlockBytes);
    EXPECT_EQ(blocks[500]->references, 1U);
    pool.unref(blocks[500]);
    pool.trim();
    EXPECT_EQ(pool.stats().blocks_in_use, 0U);
    EXPECT_EQ(pool.stats().bytes_in_use, 0U);
    EXPECT_EQ(pool.stats().returned_by_others, 1'000U);
    EXPECT_EQ(MemoryBudget::held_bytes(), held_before);
  });
}

TEST(BlockPool, shared_bytes_count_in_the_budget_once) {
  on_fresh_pool([](BlockPool& pool) {
    const uint64_t held_before = MemoryBudget::held_bytes();
    SharedBytes shared = share_bytes(std::string(10'000, 'x'));
    Block* one = pool.wrap(shared, 0, 10'000);
    Block* other = pool.wrap(shared, 0, 10'000);
    EXPECT_EQ(MemoryBudget::held_bytes(), held_before + 10'000);
    shared.reset();
    pool.unref(one);
    EXPECT_EQ(MemoryBudget::held_bytes(), held_before + 10'000);
    pool.unref(other);
    EXPECT_EQ(MemoryBudget::held_bytes(), held_before);
  });
}

TEST(BlockPool, many_threads_release_while_the_owner_works) {
  constexpr int kThreads = 3;
  constexpr size_t kBlocks = 5'000;
  on_fresh_pool([](BlockPool& pool) {
    std::vector<std::vector<Block*>> shares(kThreads);
    for (auto& share : shares) {
      for (size_t i = 0; i < kBlocks; ++i) share.push_back(pool.acquire(1));
    }
    std::latch start(kThreads + 1);
    std::vector<std::thread> threads;
    for (auto& share : shares) {
      threads.emplace_back([&start, &share] {
        start.arrive_and_wait();
        for (Block* block : share) BlockPool::release(block);
      });
    }
    start.arrive_and_wait();
    for (size_t i = 0; i < kBlocks; ++i) {
      Block* block = pool.acquire(1);
      block->data[0] = std::byte{1};
      pool.unref(block);
      if (i % 100 == 0) pool.trim(10);
    }
    for (auto& thread : threads) thread.join();
    pool.trim();
    EXPECT_EQ(pool.stats().blocks_in_use, 0U);
    EXPECT_EQ(pool.stats().blocks_free, 0U);
    EXPECT_EQ(pool.stats().returned_by_others, kThreads * kBlocks);
  });
}

TEST(BlockPool, outlives_its_thread_until_the_last_block_is_home) {
  SharedBytes shared = share_bytes("still here");
  std::vector<Block*> orphans;
  on_fresh_pool([&](BlockPool& pool) {
    for (uint32_t bytes : {1U, kLargeBlockBytes, 100'000U}) {
      orphans.push_back(pool.acquire(bytes));
      std::memset(orphans.back()->data, 7, bytes);
    }
    orphans.push_back(pool.wrap(shared, 0, 10));
    pool.unref(pool.acquire(1));
  });
  EXPECT_EQ(orphans[1]->data[kLargeBlockBytes - 1], std::byte{7});
  // With a leak or address sanitizer this also checks that the pool was destroyed with its last block, and not before.
  for (Block* block : orphans) {
    EXPECT_FALSE(BlockPool::owns(block));
    BlockPool::release(block);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

// An object of this type is constructed before the pool of its thread, so it is destroyed after the pool. Its
// destructor then needs a pool, and leaves a block for the destructor of the next such object.
struct UsesThePoolWhenItDies {
  ~UsesThePoolWhenItDies() {
    BlockPool& late = BlockPool::here();
    EXPECT_EQ(late.stats().allocations, 0U) << "the pool that has ended is not used again";
    left_behind = late.acquire(kLargeBlockBytes);
    std::memset(left_behind->data, 7, kLargeBlockBytes);
    late.unref(late.acquire(1));
    EXPECT_TRUE(BlockPool::owns(left_behind));
  }
  static Block* left_behind;
};
Block* UsesThePoolWhenItDies::left_behind = nullptr;

struct ReleasesWhenItDies {
  ~ReleasesWhenItDies() {
    EXPECT_FALSE(BlockPool::owns(UsesThePoolWhenItDies::left_behind));
    BlockPool::release(UsesThePoolWhenItDies::left_behind);
    BlockPool& third = BlockPool::here();
    third.unref(third.acquire(1));
  }
};

TEST(BlockPool, thread_locals_that_outlive_it_get_another) {
  std::thread([] {
    static thread_local ReleasesWhenItDies last;
    static thread_local UsesThePoolWhenItDies first;
    [[maybe_unused]] const void* made[] = {&last, &first};
    BlockPool& pool = BlockPool::here();
    pool.unref(pool.acquire(1));
  }).join();
}

TEST(BlockPoolDeath, statics_that_die_after_the_main_thread_s_pool_get_another) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Static {
    ~Static() {
      BlockPool& pool = BlockPool::here();
      pool.unref(pool.acquire(1));
      std::fputs("done", stderr);
    }
  };
  EXPECT_EXIT(
      {
        static const Static late;
        BlockPool::here();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "done");
}

TEST(BlockPool, threads_end_while_others_still_release_their_blocks) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Block*> blocks;
    std::latch handed_over(1);
    std::thread owner([&] {
      for (int i = 0; i < 200; ++i) blocks.push_back(BlockPool::here().acquire(i % 3 == 0 ? kLargeBlockBytes : 1));
      handed_over.count_down();
    });
    auto release = [&](size_t first) {
      handed_over.wait();
      for (size_t i = first; i < 200; i += 2) BlockPool::release(blocks[i]);
    };
    std::thread even(release, 0);
    std::thread odd(release, 1);
    owner.join();
    even.join();
    odd.join();
  }
}

}  // namespace
}  // namespace peal
