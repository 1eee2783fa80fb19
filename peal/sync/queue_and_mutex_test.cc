// SPDX-License-Identifier: BSD-3-Clause
// Tests of AsyncQueue and AsyncMutex: order, limits, and waits that end early.
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/when.h>
#include <peal/sync/async_mutex.h>
#include <peal/sync/async_queue.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

const std::error_code kTooLate = errno_code(ETIMEDOUT);

class QueueAndMutexTest : public test::TaskTest {};

TEST_P(QueueAndMutexTest, a_queue_is_bounded_and_first_come_first_served) {
  AsyncQueue<int> queue(2);
  auto produce = [&]() -> Task<> {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(co_await queue.push(i));
      EXPECT_LE(queue.size(), 2u);
    }
    queue.close();
    EXPECT_EQ(error_of(co_await queue.push(1)), errno_code(EPIPE));
  };
  auto consume = [&]() -> Task<int> {
    int count = 0;
    while (auto item = co_await queue.pop()) EXPECT_EQ(*item, count++);
    co_return count;
  };
  run([&]() -> Task<> {
    auto [nothing, count] = co_await when_all(produce(), consume());
    EXPECT_EQ(count, 1000);
  });
}

TEST_P(QueueAndMutexTest, waits_of_queue_and_mutex_end_in_time_and_leave_nothing_behind) {
  AsyncQueue<std::string> queue(1);
  AsyncMutex mutex;
  run([&]() -> Task<> {
    EXPECT_EQ(error_of(co_await queue.pop().within(milliseconds(1))), kTooLate);
    EXPECT_TRUE(co_await queue.push("one"));
    EXPECT_EQ(error_of(co_await queue.push("two").within(milliseconds(1))), kTooLate);
    EXPECT_EQ(*co_await queue.pop(), "one");
    EXPECT_EQ(queue.size(), 0u);
    auto lock = co_await mutex.lock();
    EXPECT_TRUE(lock);
    EXPECT_EQ(error_of(co_await mutex.lock().within(milliseconds(1))), kTooLate);
  });
  EXPECT_FALSE(mutex.locked());
}

TEST_P(QueueAndMutexTest, a_mutex_is_passed_on_in_order) {
  AsyncMutex mutex;
  auto holder = [&](std::string name) -> Task<> {
    auto lock = co_await mutex.lock();
    notes.push_back(name + " in");
    co_await sleep({});
    notes.push_back(name + " out");
  };
  run([&]() -> Task<> { co_await when_all(holder("a"), holder("b"), holder("c")); });
  EXPECT_THAT(notes, ElementsAre("a in", "a out", "b in", "b out", "c in", "c out"));
}

TEST_P(QueueAndMutexTest, a_loop_that_stops_ends_what_waits) {
  AsyncQueue<int> queue(1);
  AsyncMutex mutex;
  run_into_the_end([&]() -> Task<> {
    auto held = co_await mutex.lock();
    EXPECT_EQ(error_of(co_await queue.pop()), Trouble::kLoopStopped);
    EXPECT_EQ(error_of(co_await mutex.lock()), Trouble::kLoopStopped);
    notes.emplace_back("ended");
  });
  EXPECT_THAT(notes, ElementsAre("ended"));
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(QueueAndMutexTest);

}  // namespace
}  // namespace peal
