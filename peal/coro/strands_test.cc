// SPDX-License-Identifier: BSD-3-Clause
// Tests of tasks that run side by side on one loop, and of cancelling them: Scope, deadlines, when_all, when_any,
// run_on.
#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/coro/run_on.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/coro/this_loop.h>
#include <peal/coro/when.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

const std::error_code kCancelled = errno_code(ECANCELED);
const std::error_code kTooLate = errno_code(ETIMEDOUT);

class StrandsTest : public test::TaskTest {
 protected:
  // Waits an hour, unless it is cancelled.
  Task<std::error_code> sleeper() { co_return error_of(co_await sleep(hours(1))); }
  Task<> note_sleep() { notes.push_back((co_await sleeper()).message()); }
  static Task<std::error_code> any_of(std::vector<Task<std::error_code>> race) {
    co_return (co_await when_any(std::move(race))).value;
  }
  Task<> throws(std::string text, Duration delay = {}) {
    co_await sleep(delay);
    throw std::runtime_error(text);
  }
};

TEST_P(StrandsTest, children_run_side_by_side_and_are_joined) {
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(note("b", milliseconds(4)));
    scope.spawn(note("a"));
    EXPECT_EQ(scope.size(), 2u);
    EXPECT_TRUE(co_await scope.join());
    notes.push_back("joined");
  });
  // The two sleeps differ by four milliseconds, so on a busy machine they may end in either order.
  EXPECT_THAT(notes, testing::AnyOf(ElementsAre("a", "b", "joined"), ElementsAre("b", "a", "joined")));
}

TEST_P(StrandsTest, a_cancelled_scope_ends_its_children_once) {
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(note_sleep());
    scope.spawn(note_sleep());
    co_await sleep({});
    scope.cancel();
    scope.cancel();
    EXPECT_TRUE(co_await scope.join());
    scope.spawn(note_sleep());
    EXPECT_TRUE(co_await scope.join());
  });
  EXPECT_THAT(notes, ElementsAre(kCancelled.message(), kCancelled.message(), kCancelled.message()));
}

TEST_P(StrandsTest, a_childs_exception_cancels_the_others_and_is_thrown_by_join) {
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(note_sleep());
    scope.spawn(throws("boom"));
    try {
      co_await scope.join();
    } catch (const std::runtime_error& error) {
      notes.emplace_back(error.what());
    }
  });
  EXPECT_THAT(notes, ElementsAre(kCancelled.message(), "boom"));
}

TEST_P(StrandsTest, cancelling_who_joins_cancels_the_children) {
  auto nested = [&]() -> Task<> {
    Scope inner(loop());
    inner.spawn(note_sleep());
    notes.push_back(error_of(co_await inner.join()).message());
  };
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(nested());
    co_await sleep({});
    scope.cancel();
    co_await scope.join();
  });
  EXPECT_THAT(notes, ElementsAre(kCancelled.message(), kCancelled.message()));
}

TEST_P(StrandsTest, a_join_that_takes_too_long_cancels) {
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(note_sleep());
    EXPECT_EQ(error_of(co_await scope.join().within(milliseconds(2))), kTooLate);
    EXPECT_EQ(scope.size(), 0u);
  });
  EXPECT_THAT(notes, ElementsAre(kTooLate.message()));
}

TEST_P(StrandsTest, a_deadline_ends_a_task_and_not_who_awaits_it) {
  auto outer = [&]() -> Task<std::error_code> { co_return co_await sleeper().within(hours(1)); };
  run([&]() -> Task<> {
    EXPECT_EQ(co_await sleeper().within(milliseconds(2)), kTooLate);
    EXPECT_TRUE(co_await sleep(milliseconds(1)));
    EXPECT_EQ(co_await outer().within(milliseconds(2)), kTooLate);
  });
}

TEST_P(StrandsTest, when_all_answers_all) {
  auto number = [&](int value) -> Task<int> {
    co_await sleep(milliseconds(value));
    co_return value;
  };
  run([&]() -> Task<> {
    auto [three, text, one] = co_await when_all(number(3), note("void"), number(1));
    EXPECT_EQ(three, 3);
    EXPECT_EQ(one, 1);
  });
}

TEST_P(StrandsTest, when_all_cancels_the_others_of_one_that_throws) {
  run([&]() -> Task<> {
    try {
      co_await when_all(note_sleep(), throws("first", milliseconds(1)), note_sleep());
    } catch (const std::runtime_error& error) {
      notes.emplace_back(error.what());
    }
  });
  EXPECT_THAT(notes, ElementsAre(kCancelled.message(), kCancelled.message(), "first"));
}

TEST_P(StrandsTest, when_any_cancels_and_joins_the_losers) {
  auto quick = [&]() -> Task<std::error_code> {
    co_await sleep(milliseconds(1));
    co_return std::error_code{};
  };
  auto loser = [&]() -> Task<std::error_code> {
    co_await note_sleep();
    co_return kTooLate;
  };
  run([&]() -> Task<> {
    auto first = co_await when_any(loser(), quick(), loser());
    EXPECT_EQ(first.index, 1u);
    EXPECT_FALSE(first.value);
    notes.push_back("went on");
  });
  EXPECT_THAT(notes, ElementsAre(kCancelled.message(), kCancelled.message(), "went on"));
}

TEST_P(StrandsTest, cancelling_when_any_cancels_all_of_it) {
  auto race = [&]() -> Task<std::error_code> { co_return (co_await when_any(sleeper(), sleeper())).value; };
  run([&]() -> Task<> { EXPECT_EQ(co_await race().within(milliseconds(2)), kTooLate); });
}

TEST_P(StrandsTest, vectors_of_tasks_answer_in_their_order) {
  auto number = [&](int value) -> Task<int> {
    co_await sleep(milliseconds(5 - value));
    co_return value;
  };
  run([&]() -> Task<> {
    std::vector<Task<int>> numbers;
    for (int i = 0; i < 5; ++i) numbers.push_back(number(i));
    EXPECT_THAT(co_await when_all(std::move(numbers)), ElementsAre(0, 1, 2, 3, 4));
    std::vector<Task<>> nothings;
    nothings.push_back(note("a"));
    nothings.push_back(note("b"));
    EXPECT_EQ((co_await when_all(std::move(nothings))).size(), 2u);
    std::vector<Task<std::error_code>> race;
    race.push_back(sleeper());
    race.push_back(sleeper());
    EXPECT_EQ(co_await any_of(std::move(race)).within(milliseconds(1)), kTooLate);
    std::vector<Task<>> quick;
    quick.push_back(note_sleep());
    quick.push_back(note("quick"));
    EXPECT_EQ((co_await when_any(std::move(quick))).index, 1u);
  });
  EXPECT_THAT(notes, ElementsAre("a", "b", "quick", kCancelled.message()));
}

TEST_P(StrandsTest, vectors_of_no_tasks_wait_for_nothing) {
  run([&]() -> Task<> {
    EXPECT_TRUE((co_await when_all(std::vector<Task<int>>())).empty());
    EXPECT_THROW(co_await when_any(std::vector<Task<int>>()), std::invalid_argument);
  });
}

TEST_P(StrandsTest, a_vectors_first_exception_cancels_the_others_and_is_thrown) {
  run([&]() -> Task<> {
    std::vector<Task<>> tasks;
    tasks.push_back(note_sleep());
    // Cancelling ends the sleep of "later", so its exception always comes second.
    tasks.push_back(throws("later", hours(1)));
    tasks.push_back(throws("first", milliseconds(1)));
    try {
      co_await when_all(std::move(tasks));
    } catch (const std::runtime_error& error) {
      notes.emplace_back(error.what());
    }
  });
  EXPECT_THAT(notes, ElementsAre(kCancelled.message(), "first"));
}

TEST_P(StrandsTest, a_loop_that_stops_ends_what_waits) {
  const std::string stopped = std::error_code(Trouble::kLoopStopped).message();
  Scope scope(loop());
  scope.spawn(note_sleep());
  loop().post([this] { loop().stop(); });
  ASSERT_TRUE(loop().run());
  EXPECT_THAT(notes, ElementsAre(stopped));
  EXPECT_FALSE(scope.spawn(note_sleep()));
}

TEST_P(StrandsTest, a_scope_whose_loop_never_ran_drops_its_tasks) {
  Scope scope(loop());
  scope.spawn(note("never"));
  EXPECT_EQ(scope.size(), 1u);
}

class StrandsOfThreadsTest : public StrandsTest {};

TEST_P(StrandsOfThreadsTest, a_stop_requested_on_another_thread_cancels_the_scope) {
  // Takes the stop_source of a std::jthread, because g++ 12 warns of one that the test makes itself.
  std::jthread owner([](std::stop_token) {});
  std::stop_source source = owner.get_stop_source();
  std::atomic<bool> waiting = false;
  std::jthread other([&] {
    waiting.wait(false);
    source.request_stop();
  });
  auto child = [&]() -> Task<> {
    waiting = true;
    waiting.notify_all();
    co_await note_sleep();
  };
  run([&]() -> Task<> {
    Scope scope(loop(), source.get_token());
    scope.spawn(child());
    EXPECT_TRUE(co_await scope.join());
  });
  EXPECT_THAT(notes, ElementsAre(kCancelled.message()));
}

TEST_P(StrandsOfThreadsTest, a_task_goes_on_in_another_loop_and_comes_back) {
  test::LoopThread other(options());
  auto where = [](Loop& away) -> Task<bool> {
    co_await sleep(milliseconds(1));
    co_return away.in_loop() && &co_await this_loop() == &away;
  };
  run([&]() -> Task<> {
    EXPECT_EQ(co_await run_on(other.loop(), where(other.loop())), true);
    EXPECT_TRUE(loop().in_loop());
    EXPECT_EQ(&co_await this_loop(), &loop());
    try {
      co_await run_on(other.loop(), throws("abroad"));
    } catch (const std::runtime_error& error) {
      notes.emplace_back(error.what());
    }
    EXPECT_EQ(error_of(co_await run_on(other.loop(), where(loop())).within(hours(1))), std::error_code{});
    other.finish();
    EXPECT_EQ(error_of(co_await run_on(other.loop(), where(loop()))), std::error_code(Trouble::kLoopStopped));
  });
  EXPECT_THAT(notes, ElementsAre("abroad"));
}

TEST_P(StrandsOfThreadsTest, cancelling_reaches_a_task_on_another_loop) {
  test::LoopThread other(options());
  auto away = [](Duration how_long) -> Task<Result<int>> {
    auto slept = co_await sleep(how_long);
    if (!slept) co_return std::unexpected(slept.error());
    co_return 1;
  };
  run([&]() -> Task<> {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(error_of(co_await run_on(other.loop(), away(hours(1))).within(Duration(i * 20'000))), kTooLate);
    }
    EXPECT_EQ(co_await run_on(other.loop(), away({})), 1);
  });
}

TEST_P(StrandsOfThreadsTest, the_home_loop_stops_while_its_task_is_away) {
  test::LoopThread other(options());
  auto away = [&]() -> Task<std::error_code> {
    loop().stop();
    co_return error_of(co_await sleep(hours(1)));
  };
  auto test = [&]() -> Task<> { notes.push_back((co_await run_on(other.loop(), away())).value().message()); };
  {
    Scope scope(loop());
    scope.spawn(test());
    ASSERT_TRUE(loop().run());
  }
  EXPECT_THAT(notes, ElementsAre(std::error_code(Trouble::kLoopStopped).message()));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(StrandsTest);
PEAL_TEST_ON_EVERY_PORT(StrandsOfThreadsTest);

}  // namespace
}  // namespace peal
