// SPDX-License-Identifier: BSD-3-Clause
// Tests of select(): one of several awaits is taken, and the others have no effect.
#include <peal/sync/select.h>

#include <memory>
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/coro/when.h>
#include <peal/sync/async_event.h>
#include <peal/sync/async_mutex.h>
#include <peal/sync/async_queue.h>
#include <peal/sync/async_semaphore.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

// An await that has had effects by the time it would be withdrawn does not compile.
static_assert(!detail::Selectable<Task<>> && !detail::Selectable<Task<int>>);
static_assert(!detail::Selectable<detail::WriteWait> && !detail::Selectable<detail::FlushWait>);
static_assert(!detail::Selectable<Connect> && !detail::Selectable<Scope::Join>);
static_assert(detail::Selectable<Sleep> && detail::Selectable<StreamRead> && detail::Selectable<StreamReadMessage>);

class SelectTest : public test::TaskTest {};

TEST_P(SelectTest, the_first_that_is_complete_is_taken_and_the_others_are_left_alone) {
  AsyncQueue<std::string> queue(1);
  AsyncEvent event;
  auto takes = [&]() -> Task<> {
    auto chosen = co_await select(queue.pop(), event.wait(), sleep(hours(1)));
    EXPECT_EQ(chosen.value().index(), 1U);
    EXPECT_TRUE(std::get<1>(*chosen));
    chosen = co_await select(queue.pop(), event.wait(), sleep(hours(1)));
    EXPECT_EQ(std::get<0>(chosen.value()).value(), "item");
  };
  auto gives = [&]() -> Task<> {
    co_await settle();
    event.set();
    event.reset();
    EXPECT_EQ(loop().timers_pending(), 0U);
    co_await settle();
    EXPECT_EQ(loop().timers_pending(), 1U);
    EXPECT_TRUE(co_await queue.push("item"));
  };
  run([&]() -> Task<> { co_await when_all(takes(), gives()); });
}

TEST_P(SelectTest, what_completes_before_the_task_is_resumed_takes_nothing) {
  AsyncQueue<int> first(1);
  AsyncQueue<int> second(1);
  AsyncSemaphore permits(0);
  auto takes = [&]() -> Task<> {
    auto chosen = co_await select(first.pop(), second.pop(), permits.acquire());
    EXPECT_EQ(chosen.value().index(), 1U);
    EXPECT_EQ(std::get<1>(*chosen).value(), 2);
  };
  auto gives = [&]() -> Task<> {
    co_await settle();
    // The task in select() is not resumed before this task waits.
    EXPECT_TRUE(co_await second.push(2));
    permits.release();
    EXPECT_TRUE(co_await first.push(1));
    co_await settle();
    EXPECT_EQ(first.size(), 1U);
    EXPECT_EQ(second.size(), 0U);
    EXPECT_EQ(permits.available(), 1U);
  };
  run([&]() -> Task<> { co_await when_all(takes(), gives()); });
}

TEST_P(SelectTest, of_several_that_are_ready_the_first_argument_is_taken) {
  AsyncQueue<int> first(1);
  AsyncQueue<int> second(1);
  AsyncMutex mutex;
  run([&]() -> Task<> {
    EXPECT_TRUE(co_await first.push(1));
    EXPECT_TRUE(co_await second.push(2));
    auto chosen = co_await select(sleep(hours(1)), second.pop(), first.pop());
    EXPECT_EQ(chosen.value().index(), 1U);
    EXPECT_EQ(first.size(), 1U);
    // The lock of a select() that has chosen an earlier argument was never taken.
    EXPECT_EQ((co_await select(first.pop(), mutex.lock())).value().index(), 0U);
    EXPECT_FALSE(mutex.locked());
    auto locked = co_await select(first.pop(), mutex.lock());
    EXPECT_EQ(locked.value().index(), 1U);
    EXPECT_TRUE(mutex.locked());
  });
  EXPECT_FALSE(mutex.locked());
}

TEST_P(SelectTest, cancelled_or_too_late_it_withdraws_all) {
  AsyncQueue<int> queue(1);
  AsyncEvent event;
  AsyncSemaphore permits(1);
  auto waits = [&]() -> Task<> {
    auto chosen = co_await select(queue.pop(), event.wait(), permits.acquire(2), sleep(hours(1)));
    notes.push_back(error_of(chosen).message());
  };
  run([&]() -> Task<> {
    constexpr auto kSoon = milliseconds(2);
    EXPECT_EQ(error_of(co_await select(queue.pop(), sleep(hours(1))).within(kSoon)), errno_code(ETIMEDOUT));
    // The error of a select() is its own; the end of a sleep() among the arguments is no error.
    EXPECT_EQ((co_await select(queue.pop(), sleep(kSoon)).within(hours(1))).value().index(), 1U);
    Scope scope(loop());
    scope.spawn(waits());
    co_await settle();
    scope.cancel();
    scope.spawn(waits());
    co_await scope.join();
    EXPECT_EQ(loop().timers_pending(), 0U);
    EXPECT_TRUE(permits.try_acquire());
    EXPECT_TRUE(queue.try_pop() == std::nullopt);
  });
  const std::string cancelled = errno_code(ECANCELED).message();
  EXPECT_THAT(notes, ElementsAre(cancelled, cancelled));
}

TEST_P(SelectTest, a_cancelled_task_still_gets_what_is_there) {
  AsyncQueue<int> queue(1);
  auto takes = [&]() -> Task<> {
    EXPECT_FALSE(co_await sleep(hours(1)));
    auto chosen = co_await select(sleep(hours(1)), queue.pop());
    EXPECT_EQ(std::get<1>(chosen.value()).value(), 5);
  };
  run([&]() -> Task<> {
    EXPECT_TRUE(co_await queue.push(5));
    Scope scope(loop());
    scope.spawn(takes());
    scope.cancel();
    co_await scope.join();
  });
}

TEST_P(SelectTest, an_item_is_pushed_or_dies_once) {
  AsyncQueue<std::shared_ptr<int>> queue(1);
  run([&]() -> Task<> {
    const auto item = std::make_shared<int>(1);
    auto chosen = co_await select(queue.push(item), sleep(milliseconds(1)));
    EXPECT_EQ(chosen.value().index(), 0U);
    EXPECT_EQ(item.use_count(), 2);
    EXPECT_EQ((co_await select(queue.push(item), sleep(milliseconds(1)))).value().index(), 1U);
    EXPECT_EQ(item.use_count(), 2);
    EXPECT_EQ(std::get<0>((co_await select(queue.pop(), queue.pop())).value()).value().use_count(), 2);
    EXPECT_EQ(item.use_count(), 1);
  });
}

TEST_P(SelectTest, a_loop_that_stops_ends_it) {
  AsyncQueue<int> queue(1);
  run_into_the_end([&]() -> Task<> {
    notes.push_back(error_of(co_await select(queue.pop(), queue.pop())).message());
    // The loop has stopped, so an await that would have to wait fails at once.
    notes.push_back(error_of(co_await select(queue.pop(), sleep(hours(1)))).message());
  });
  const std::string stopped = std::error_code(Trouble::kLoopStopped).message();
  EXPECT_THAT(notes, ElementsAre(stopped, stopped));
}

TEST_P(SelectTest, many_producers_and_selecting_consumers_lose_nothing) {
  AsyncQueue<int> odd(2);
  AsyncQueue<int> even(1);
  int sum = 0;
  int popped = 0;
  auto produces = [&](AsyncQueue<int>& queue, int from) -> Task<> {
    for (int i = from; i < 1000; i += 2) {
      EXPECT_TRUE(co_await queue.push(i));
      if (i % 7 == 0) co_await sleep({});
    }
    queue.close();
  };
  auto consumes = [&]() -> Task<> {
    for (;;) {
      auto chosen = co_await select(odd.pop(), even.pop());
      auto& item = chosen->index() == 0 ? std::get<0>(*chosen) : std::get<1>(*chosen);
      if (!item) break;
      sum += *item;
      ++popped;
    }
    // One queue is closed and empty now; takes the rest of the other.
    for (auto* queue : {&odd, &even}) {
      while (auto item = co_await queue->pop()) {
        sum += *item;
        ++popped;
      }
    }
  };
  run([&]() -> Task<> { co_await when_all(produces(odd, 1), produces(even, 0), consumes(), consumes()); });
  EXPECT_EQ(popped, 1000);
  EXPECT_EQ(sum, 999 * 500);
}

class SelectStreamsTest : public test::TaskTest {};

TEST_P(SelectStreamsTest, a_read_that_was_not_chosen_has_read_nothing) {
  AsyncEvent event;
  auto serves = [&](Stream stream) -> Task<> {
    auto chosen = co_await select(stream.read_until("\n"), event.wait());
    EXPECT_EQ(chosen.value().index(), 1U);
    // The read was withdrawn, so another may begin, and no byte was lost.
    auto read = co_await select(event.wait(), stream.read_exactly(2)).within(hours(1));
    EXPECT_EQ(read.value().index(), 0U);
    event.reset();
    read = co_await select(event.wait(), stream.read_exactly(2)).within(hours(1));
    EXPECT_EQ(std::get<1>(read.value()).value().to_string(), "by");
    auto rest = co_await select(stream.read(), sleep(hours(1)));
    EXPECT_EQ(std::get<0>(rest.value()).value().to_string(), "e");
    EXPECT_TRUE(co_await stream.write("!"));
    auto more = co_await select(sleep(hours(1)), stream.read());
    EXPECT_EQ(std::get<1>(more.value()).value().to_string(), "more");
    auto end = co_await select(stream.read(), sleep(hours(1)));
    EXPECT_TRUE(std::get<0>(end.value()).value().empty());
  };
  CoServer server(loop(), serves);
  const std::string address = server.listen("127.0.0.1:0").value().to_string();
  run([&]() -> Task<> {
    auto stream = co_await connect(address);
    EXPECT_TRUE(stream);
    co_await settle();
    event.set();
    EXPECT_TRUE(co_await stream->write("bye"));
    EXPECT_EQ((co_await stream->read()).value().to_string(), "!");
    EXPECT_TRUE(co_await stream->write("more"));
    stream->close();
    co_await until([&] { return server.tasks() == 0; });
  });
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(SelectTest);
PEAL_TEST_ON_EVERY_PORT_AND_SIM(SelectStreamsTest);

}  // namespace
}  // namespace peal
