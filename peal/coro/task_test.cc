// SPDX-License-Identifier: BSD-3-Clause
// Tests of Task alone: its results, its exceptions, its cost.
#include <peal/coro/task.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>

namespace {
std::atomic<size_t> allocations_made = 0;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PEAL_NEW_IS_TAKEN
#endif
#endif

#ifndef PEAL_NEW_IS_TAKEN
// Counts the allocations of the whole test program.
void* operator new(size_t size) {
  allocations_made.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace peal {
namespace {

size_t allocations() { return allocations_made.load(std::memory_order_relaxed); }

// Runs the coroutine `body` on a loop until it has ended.
void run(const std::function<Task<>()>& body) {
  Loop loop;
  auto all = [&]() -> Task<> {
    co_await body();
    loop.stop();
  };
  Scope scope(loop);
  scope.spawn(all());
  EXPECT_TRUE(loop.run());
}

Task<int> twice(int number) { co_return 2 * number; }
Task<std::unique_ptr<int>> boxed(int number) { co_return std::make_unique<int>(number); }
Task<int&> same(int& number) { co_return number; }
Task<int> thrower() {
  throw std::runtime_error("no answer");
  co_return 0;
}

TEST(TaskTest, answers_values_references_and_nothing) {
  run([]() -> Task<> {
    EXPECT_EQ(co_await twice(21), 42);
    EXPECT_EQ(*co_await boxed(7), 7);
    int number = 1;
    int& alias = co_await same(number);
    EXPECT_EQ(&alias, &number);
  });
}

TEST(TaskTest, an_exception_is_thrown_where_the_task_is_awaited) {
  bool caught = false;
  run([&]() -> Task<> {
    try {
      co_await thrower();
    } catch (const std::runtime_error& error) {
      caught = std::string(error.what()) == "no answer";
    }
  });
  EXPECT_TRUE(caught);
}

TEST(TaskTest, nothing_runs_before_it_is_awaited) {
  bool begun = false;
  auto task = [&]() -> Task<> {
    begun = true;
    co_return;
  };
  run([&]() -> Task<> {
    Task<> later = task();
    EXPECT_FALSE(begun);
    Task<> moved = std::move(later);
    co_await std::move(moved);
    EXPECT_TRUE(begun);
    Task<> never = task();
  });
}

Task<int> chain(int depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await chain(depth - 1);
}

// Without optimised sibling calls, g++ uses stack for each await.
bool spends_stack() {
#if !defined(__clang__) && !defined(__OPTIMIZE__)
  return true;
#else
  return false;
#endif
}

TEST(TaskTest, two_million_awaits_in_a_loop_spend_no_stack) {
  if (spends_stack()) GTEST_SKIP() << "g++ -O0 does not optimise sibling calls";
  int64_t sum = 0;
  run([&]() -> Task<> {
    for (int i = 0; i < 2'000'000; ++i) sum += co_await twice(1);
    for (int i = 0; i < 500'000; ++i) sum += co_await chain(4);
  });
  EXPECT_EQ(sum, 6'000'000);
}

TEST(TaskTest, a_chain_of_a_hundred_thousand_tasks_spends_no_stack) {
  if (spends_stack()) GTEST_SKIP() << "g++ -O0 does not optimise sibling calls";
  int depth = 0;
  run([&]() -> Task<> { depth = co_await chain(100'000); });
  EXPECT_EQ(depth, 100'000);
}

TEST(TaskTest, its_frame_is_its_only_allocation) {
  if (allocations() == 0) GTEST_SKIP() << "the thread sanitizer keeps operator new to itself";
  run([]() -> Task<> {
    const size_t before = allocations();
    EXPECT_EQ(co_await twice(2), 4);
    EXPECT_EQ(allocations(), before + 1);
    EXPECT_EQ(co_await chain(9), 9);
    EXPECT_EQ(allocations(), before + 11);
  });
  // A frame holds, beside its own variables: the strand, the awaiting coroutine, the exception and the result.
  EXPECT_LE(sizeof(Task<>::promise_type), 3 * sizeof(void*));
  EXPECT_LE(sizeof(Task<int>::promise_type), 4 * sizeof(void*));
  EXPECT_EQ(sizeof(Task<>), sizeof(void*));
}

TEST(TaskDeathTest, destroying_a_task_that_waits_asserts) {
  auto sleeper = []() -> Task<> { co_await sleep(std::chrono::hours(1)); };
  EXPECT_DEATH(
      {
        Loop loop;
        Scope scope(loop);
        loop.post([&] {
          {
            Scope inner(loop);
            inner.spawn(sleeper());
          }
        });
        static_cast<void>(loop.run());
      },
      "join it first");
}

}  // namespace
}  // namespace peal
