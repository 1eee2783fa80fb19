// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/thread/thread_pool.h>

#include <latch>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/base/thread/locked_list.h>

namespace peal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::unique_ptr<ThreadPool> start(ThreadPoolOptions options) {
  auto pool = ThreadPool::start(std::move(options));
  EXPECT_TRUE(pool) << pool.error().message();
  return std::move(*pool);
}

// A pool whose one thread is busy until the gate opens, and whose queue is full.
class FullPool : public testing::Test {
 protected:
  void fill(WhenFull when_full) {
    pool = start({.name = "full", .threads = 1, .queue_capacity = 1, .when_full = when_full});
    std::latch busy(1);
    EXPECT_TRUE(pool->submit([&] {
      busy.count_down();
      gate.wait();
    }));
    busy.wait();
    EXPECT_TRUE(pool->submit([&] { ++ran; }));
  }
  void open_gate() { gate.count_down(); }

  std::latch gate{1};
  std::atomic<int> ran = 0;
  std::unique_ptr<ThreadPool> pool;
};

TEST(ThreadPool, runs_what_is_submitted_on_threads_with_its_name) {
  LockedList<std::string> names;
  auto pool = start({.name = "work", .threads = 2});
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    pool->submit([&] {
      names.push(current_thread_name());
      both.arrive_and_wait();  // both tasks run at the same time, so on two threads
    });
  }
  pool->stop();
  EXPECT_THAT(names.take_all(), UnorderedElementsAre("work-0", "work-1"));
}

TEST(ThreadPool, as_many_threads_as_cpus_unless_told) {
  std::atomic<unsigned> started = 0;
  start({.on_start = [&](unsigned) { ++started; }})->stop();
  EXPECT_EQ(started, std::max(1U, std::thread::hardware_concurrency()));
}

TEST(ThreadPool, start_hooks_get_the_threads_numbers) {
  LockedList<unsigned> numbers;
  start({.threads = 3, .on_start = [&](unsigned number) { numbers.push(number); }})->stop();
  EXPECT_THAT(numbers.take_all(), UnorderedElementsAre(0U, 1U, 2U));
}

TEST(ThreadPool, one_thread_keeps_the_order) {
  std::vector<int> order;
  auto pool = start({.threads = 1, .queue_capacity = 2});
  for (int i = 0; i < 100; ++i) pool->submit([&order, i] { order.push_back(i); });
  pool->stop();
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_F(FullPool, refuses) {
  fill(WhenFull::kRefuse);
  auto owned = std::make_unique<int>(1);
  ThreadPool::Task task = [this, owned = std::move(owned)] { ran += 10; };
  EXPECT_FALSE(pool->submit(std::move(task)));
  EXPECT_TRUE(task) << "the task stays the submitter's";
  EXPECT_EQ(pool->stats().queued, 1U);
  open_gate();
  pool->stop();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(pool->stats().refused, 1U);
  EXPECT_EQ(pool->stats().submitted, 2U);
  EXPECT_EQ(pool->stats().finished, 2U);
}

TEST_F(FullPool, runs_on_the_submitter) {
  fill(WhenFull::kRunHere);
  std::thread::id id;
  EXPECT_TRUE(pool->submit([&] { id = std::this_thread::get_id(); }));
  EXPECT_EQ(id, std::this_thread::get_id());
  open_gate();
  pool->stop();
  EXPECT_EQ(pool->stats().ran_here, 1U);
  EXPECT_EQ(pool->stats().finished, 3U);
}

TEST_F(FullPool, blocks_the_submitter_until_there_is_room) {
  fill(WhenFull::kBlock);
  std::thread submitter([this] { EXPECT_TRUE(pool->submit([this] { ++ran; })); });
  open_gate();
  submitter.join();
  pool->stop();
  EXPECT_EQ(ran, 2);
}

TEST_F(FullPool, stopping_refuses_who_waits_for_room) {
  fill(WhenFull::kBlock);
  std::thread submitter([this] {
    // A task is either accepted before the stop or refused by it. Both are counted, so no task is lost.
    pool->submit([this] { ++ran; });
  });
  std::thread opener([this] { open_gate(); });
  pool->stop();
  submitter.join();
  opener.join();
  const ThreadPoolStats stats = pool->stats();
  EXPECT_EQ(stats.submitted + stats.refused, 3U);
  EXPECT_EQ(stats.finished, stats.submitted);
}

TEST_F(FullPool, a_task_that_submits_to_its_own_full_pool_runs_it_in_place) {
  pool = start({.threads = 1, .queue_capacity = 1});
  std::vector<int> order;
  pool->submit([&] {
    for (int i = 1; i <= 3; ++i) EXPECT_TRUE(pool->submit([&order, i] { order.push_back(i); }));
    gate.count_down();
  });
  gate.wait();
  pool->stop();
  EXPECT_THAT(order, ElementsAre(2, 3, 1)) << "the first was queued, the others found the queue full";
}

TEST_F(FullPool, stopped_by_dropping_destroys_what_is_queued) {
  fill(WhenFull::kRefuse);
  std::thread opener([this] {
    while (pool->stats().dropped == 0) std::this_thread::yield();
    open_gate();
  });
  pool->stop(StopPool::kDrop);
  opener.join();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(pool->stats().dropped, 1U);
  EXPECT_EQ(pool->stats().finished, 1U);
  EXPECT_FALSE(pool->submit([] {}));
  pool->stop();
}

TEST(ThreadPool, what_a_task_throws_is_logged_and_counted_and_the_thread_goes_on) {
  LockedList<std::string> lines;
  set_log_sink([&](const LogRecord& record) { lines.push(std::string(record.text)); });
  bool ran = false;
  auto pool = start({.name = "bold", .threads = 1, .on_start = [](unsigned) { throw std::runtime_error("no start"); }});
  pool->submit([] { throw std::runtime_error("no luck"); });
  pool->submit([] { throw Exception("no trace lost"); });
  pool->submit([] { throw 1; });
  pool->submit([&] { ran = true; });
  pool->stop();
  set_log_sink({});
  EXPECT_TRUE(ran);
  EXPECT_EQ(pool->stats().threw, 4U);
  EXPECT_EQ(pool->stats().finished, 4U);
  EXPECT_THAT(lines.take_all(),
              ElementsAre("on_start of pool bold threw: no start", "a task of pool bold threw: no luck",
                          AllOf(HasSubstr("a task of pool bold threw: no trace lost\n#0 "),
                                HasSubstr("ThreadPool::run_queued_tasks")),
                          "a task of pool bold threw: an exception that is not a std::exception"));
}

TEST(ThreadPool, many_submitters_lose_nothing) {
  constexpr int kThreads = 4, kEach = 2'000;
  for (const WhenFull when_full : {WhenFull::kBlock, WhenFull::kRunHere}) {
    std::atomic<int> sum = 0;
    auto pool = start({.threads = 3, .queue_capacity = 8, .when_full = when_full});
    std::vector<std::thread> submitters;
    for (int t = 0; t < kThreads; ++t) {
      submitters.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) EXPECT_TRUE(pool->submit([&] { ++sum; }));
      });
    }
    for (std::thread& submitter : submitters) submitter.join();
    pool.reset();
    EXPECT_EQ(sum, kThreads * kEach);
  }
}

TEST(ThreadPoolDeath, a_task_that_stops_its_pool_asserts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto pool = start({.threads = 1});
        pool->submit([&] { pool->stop(); });
        pool->stop();
      },
      "a task calls stop\\(\\) of its own pool pool");
}

}  // namespace
}  // namespace peal
