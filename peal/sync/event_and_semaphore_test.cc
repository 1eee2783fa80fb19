// SPDX-License-Identifier: BSD-3-Clause
// Tests of AsyncEvent and AsyncSemaphore: which coroutines are resumed, in which order, and waits that end early.
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/when.h>
#include <peal/sync/async_event.h>
#include <peal/sync/async_semaphore.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

class EventAndSemaphoreTest : public test::TaskTest {
 protected:
  Task<> holds(AsyncSemaphore& semaphore, std::string name, size_t count, Duration time = milliseconds(1)) {
    auto permit = co_await semaphore.acquire(count);
    notes.push_back(name + (permit ? " in" : ": " + permit.error().message()));
    co_await sleep(time);
  }
};

TEST_P(EventAndSemaphoreTest, all_who_wait_go_on_and_later_ones_need_not_wait) {
  AsyncEvent event;
  auto waits = [&](std::string name) -> Task<> {
    EXPECT_TRUE(co_await event.wait());
    notes.push_back(name);
  };
  auto sets = [&]() -> Task<> {
    co_await settle();
    event.set();
    event.set();
    EXPECT_TRUE(event.is_set());
    EXPECT_TRUE(co_await event.wait().within(milliseconds(1)));
    event.reset();
    EXPECT_EQ(error_of(co_await event.wait().within(milliseconds(1))), errno_code(ETIMEDOUT));
  };
  run([&]() -> Task<> { co_await when_all(waits("a"), waits("b"), sets()); });
  EXPECT_THAT(notes, ElementsAre("a", "b"));
}

TEST_P(EventAndSemaphoreTest, set_and_reset_at_once_still_lets_those_go_who_waited) {
  AsyncEvent event;
  auto waits = [&]() -> Task<> { EXPECT_TRUE(co_await event.wait()); };
  auto pulses = [&]() -> Task<> {
    co_await settle();
    event.set();
    event.reset();
  };
  run([&]() -> Task<> { co_await when_all(waits(), waits(), pulses()); });
}

TEST_P(EventAndSemaphoreTest, a_loop_that_stops_ends_both) {
  AsyncEvent event;
  AsyncSemaphore semaphore(0);
  run_into_the_end([&]() -> Task<> {
    EXPECT_EQ(error_of(co_await event.wait()), Trouble::kLoopStopped);
    EXPECT_EQ(error_of(co_await semaphore.acquire()), Trouble::kLoopStopped);
    notes.emplace_back("ended");
  });
  EXPECT_THAT(notes, ElementsAre("ended"));
}

TEST_P(EventAndSemaphoreTest, permits_are_given_in_the_order_they_were_asked_for) {
  AsyncSemaphore semaphore(3);
  run([&]() -> Task<> {
    auto all = co_await semaphore.acquire(3);
    auto give = [&]() -> Task<> {
      co_await settle();
      // One permit is free, but a coroutine that asked for more waits before this one.
      semaphore.release();
      EXPECT_FALSE(semaphore.try_acquire());
      all->spend();
      all->spend();
      semaphore.release(2);
    };
    co_await when_all(holds(semaphore, "much", 3), holds(semaphore, "little", 1), holds(semaphore, "less", 0), give());
  });
  EXPECT_THAT(notes, ElementsAre("much in", "little in", "less in"));
  EXPECT_EQ(semaphore.available(), 3U);
}

TEST_P(EventAndSemaphoreTest, one_that_gives_up_lets_those_behind_it_go) {
  AsyncSemaphore semaphore(2);
  auto late = [&]() -> Task<> {
    EXPECT_EQ(error_of(co_await semaphore.acquire(2).within(milliseconds(1))), errno_code(ETIMEDOUT));
  };
  run([&]() -> Task<> {
    auto one = co_await semaphore.acquire();
    co_await when_all(late(), holds(semaphore, "behind", 1));
    EXPECT_EQ(semaphore.available(), 1U);
  });
  EXPECT_THAT(notes, ElementsAre("behind in"));
  EXPECT_EQ(semaphore.available(), 2U);
}

TEST_P(EventAndSemaphoreTest, no_more_than_its_permits_are_at_it_at_once) {
  AsyncSemaphore semaphore(3);
  int at_once = 0;
  int most = 0;
  auto works = [&]() -> Task<> {
    auto permit = co_await semaphore.acquire();
    most = std::max(most, ++at_once);
    co_await sleep(milliseconds(1));
    --at_once;
  };
  run([&]() -> Task<> {
    Scope scope(loop());
    for (int i = 0; i < 20; ++i) scope.spawn(works());
    co_await scope.join();
  });
  EXPECT_EQ(most, 3);
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(EventAndSemaphoreTest);

}  // namespace
}  // namespace peal
