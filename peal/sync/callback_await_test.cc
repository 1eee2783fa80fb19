// SPDX-License-Identifier: BSD-3-Clause
// Tests of callback_await() with APIs that call back at once, later, from another thread, twice, or never.
#include <peal/sync/callback_await.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

class CallbackAwaitTest : public test::TaskTest {};

TEST_P(CallbackAwaitTest, answered_later_or_before_the_start_returns) {
  run([&]() -> Task<> {
    auto later = [&](Completion<std::string> done) {
      loop().post([done = std::move(done)]() mutable { done("later"); });
    };
    EXPECT_EQ((co_await callback_await<std::string>(later)).value(), "later");
    auto at_once = [](Completion<std::unique_ptr<int>> done) { done(std::make_unique<int>(5)); };
    EXPECT_EQ(*(co_await callback_await<std::unique_ptr<int>>(at_once)).value(), 5);
    EXPECT_TRUE(co_await callback_await([](Completion<> done) { done(); }));
    // A lambda that captures only references may be written inside the co_await expression.
    auto fails = co_await callback_await<int>([&](Completion<int> done) {
      notes.emplace_back("called");
      done.fail(errno_code(EIO));
    });
    EXPECT_EQ(error_of(fails), errno_code(EIO));
  });
  EXPECT_THAT(notes, ElementsAre("called"));
}

TEST_P(CallbackAwaitTest, the_first_answer_counts_and_none_at_all_is_an_error) {
  run([&]() -> Task<> {
    auto twice = [](Completion<int> done) {
      done(1);
      done(2);
      done.fail(errno_code(EIO));
    };
    EXPECT_EQ(co_await callback_await<int>(twice), 1);
    auto drops = [](const Completion<int>&) {};
    EXPECT_EQ(error_of(co_await callback_await<int>(drops)), errno_code(EOWNERDEAD));
    auto drops_later = [&](Completion<> done) { loop().post([done = std::move(done)] {}); };
    EXPECT_EQ(error_of(co_await callback_await(drops_later)), errno_code(EOWNERDEAD));
    auto throws = [](const Completion<int>&) { throw std::runtime_error("no"); };
    EXPECT_THROW(co_await callback_await<int>(throws), std::runtime_error);
    EXPECT_TRUE(co_await sleep({}));
  });
}

TEST_P(CallbackAwaitTest, cancelled_it_tells_the_api_and_hears_no_more) {
  std::optional<Completion<int>> kept;
  auto start = [&](Completion<int> done) { kept.emplace(std::move(done)); };
  auto gives_up = [&] {
    notes.emplace_back("gives up");
    (*kept)(7);
  };
  auto waits = [&]() -> Task<> { notes.push_back(error_of(co_await callback_await<int>(start, gives_up)).message()); };
  run([&]() -> Task<> {
    EXPECT_EQ(error_of(co_await callback_await<int>(start).within(milliseconds(1))), errno_code(ETIMEDOUT));
    (*kept)(1);
    kept.reset();
    Scope scope(loop());
    scope.spawn(waits());
    co_await settle();
    scope.cancel();
    co_await scope.join();
    // The task is cancelled from the start, so `start` is not even called.
    kept.reset();
    scope.spawn(waits());
    co_await scope.join();
    EXPECT_FALSE(kept);
  });
  const std::string cancelled = errno_code(ECANCELED).message();
  EXPECT_THAT(notes, ElementsAre("gives up", cancelled, cancelled));
}

TEST_P(CallbackAwaitTest, answered_and_cancelled_by_its_own_start_it_ends_once) {
  run([&]() -> Task<> {
    Scope scope(loop());
    auto answers = [&](Completion<int> done) {
      done(1);
      scope.cancel();
    };
    auto waits = [&]() -> Task<> {
      EXPECT_EQ(co_await callback_await<int>(answers), 1);
      notes.push_back(error_of(co_await callback_await<int>(answers)).message());
    };
    scope.spawn(waits());
    co_await scope.join();
    Scope other(loop());
    auto cancels_other = [&](Completion<int> done) {
      other.cancel();
      done(1);
    };
    auto waits_there = [&]() -> Task<> {
      notes.push_back(error_of(co_await callback_await<int>(cancels_other)).message());
    };
    other.spawn(waits_there());
    co_await other.join();
  });
  const std::string cancelled = errno_code(ECANCELED).message();
  EXPECT_THAT(notes, ElementsAre(cancelled, cancelled));
}

TEST_P(CallbackAwaitTest, a_loop_that_stops_ends_it_and_a_late_answer_goes_nowhere) {
  std::optional<Completion<int>> kept;
  run_into_the_end([&]() -> Task<> {
    auto start = [&](Completion<int> done) { kept.emplace(std::move(done)); };
    notes.push_back(error_of(co_await callback_await<int>(start)).message());
  });
  EXPECT_THAT(notes, ElementsAre(std::error_code(Trouble::kLoopStopped).message()));
  (*kept)(1);
}

class CallbackThreadsTest : public test::TaskTest {};

TEST_P(CallbackThreadsTest, answered_or_dropped_on_another_thread) {
  run([&]() -> Task<> {
    std::jthread thread;
    auto start = [&](Completion<int> done) { thread = std::jthread([done = std::move(done)]() mutable { done(3); }); };
    for (int i = 0; i < 50; ++i) EXPECT_EQ(co_await callback_await<int>(start), 3);
    auto drops = [&](Completion<int> done) { thread = std::jthread([done = std::move(done)] {}); };
    for (int i = 0; i < 50; ++i) EXPECT_EQ(error_of(co_await callback_await<int>(drops)), errno_code(EOWNERDEAD));
    for (int i = 0; i < 50; ++i) {
      auto raced = co_await callback_await<int>(start).within(Duration(1000));
      EXPECT_TRUE(raced || raced.error() == std::errc::timed_out);
    }
  });
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(CallbackAwaitTest);
PEAL_TEST_ON_EVERY_ENGINE(CallbackThreadsTest);

}  // namespace
}  // namespace peal
