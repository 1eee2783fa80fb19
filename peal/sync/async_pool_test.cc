// SPDX-License-Identifier: BSD-3-Clause
// Tests of AsyncPool: jobs on threads that a task waits for, and every way in which a job, a wait, the pool or the loop
// can end.
#include <peal/sync/async_pool.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include <peal/coro/when.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

class AsyncPoolTest : public test::TaskTest {
 protected:
  // Destroys the pool before the loop, because its threads may use what they share with the loop a moment longer.
  void TearDown() override {
    narrow.reset();
    test::TaskTest::TearDown();
  }

  // A pool with one thread and room for one queued job. The job of holds() blocks the thread until `gate` is released.
  std::unique_ptr<AsyncPool> narrow = AsyncPool::start({.threads = 1, .queue_limit = 1, .name = "narrow"}).value();
  std::binary_semaphore begun{0};
  std::binary_semaphore gate{0};
  // Runs a job that occupies the pool's only thread until `gate` is released.
  Task<> holds() {
    auto job = [this] {
      begun.release();
      gate.acquire();
      return 5;
    };
    auto answer = co_await narrow->run(job);
    notes.push_back(answer ? "held" : answer.error().message());
  }
};

TEST_P(AsyncPoolTest, answers_travel_back_and_exceptions_too) {
  run([&]() -> Task<> {
    const auto here = std::this_thread::get_id();
    EXPECT_TRUE((co_await narrow->run([&] { return std::this_thread::get_id() != here; })).value());
    EXPECT_EQ(std::this_thread::get_id(), here);
    auto makes = [] { return std::make_unique<int>(5); };
    EXPECT_EQ(*(co_await narrow->run(makes)).value(), 5);
    auto fails = []() -> Result<int> { return fail(EIO); };
    EXPECT_EQ(error_of(co_await narrow->run(fails)), errno_code(EIO));
    auto nothing = [] {};
    EXPECT_TRUE(co_await narrow->run(nothing));
    auto throws = []() -> int { throw std::runtime_error("no"); };
    EXPECT_THROW(co_await narrow->run(throws), std::runtime_error);
    EXPECT_EQ(narrow->stats().refused, 0U);
  });
}

TEST_P(AsyncPoolTest, what_finds_no_room_is_refused_and_what_is_queued_can_be_cancelled) {
  auto never = [] {
    ADD_FAILURE() << "it ran";
    return 1;
  };
  auto late = [&]() -> Task<> {
    EXPECT_EQ(error_of(co_await narrow->run(never).within(milliseconds(5))), errno_code(ETIMEDOUT));
    EXPECT_EQ(narrow->stats().withdrawn, 1U);
    gate.release();
  };
  auto refused = [&]() -> Task<> {
    EXPECT_EQ(error_of(co_await narrow->run(never)), errno_code(EAGAIN));
    EXPECT_EQ(narrow->stats().refused, 1U);
    EXPECT_EQ(narrow->stats().queued, 1U);
    EXPECT_EQ(narrow->stats().running, 1U);
  };
  auto rest = [&]() -> Task<> {
    begun.acquire();
    co_await when_all(late(), refused());
  };
  run([&]() -> Task<> { co_await when_all(holds(), rest()); });
  EXPECT_THAT(notes, ElementsAre("held"));
}

TEST_P(AsyncPoolTest, a_job_that_runs_is_waited_for_and_its_answer_counts) {
  auto cancels = [&](Scope& scope) -> Task<> {
    begun.acquire();
    scope.cancel();
    EXPECT_TRUE(notes.empty());
    gate.release();
    co_return;
  };
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(holds());
    co_await sleep({});
    co_await cancels(scope);
    co_await scope.join();
  });
  EXPECT_THAT(notes, ElementsAre("held"));
}

TEST_P(AsyncPoolTest, a_job_that_takes_a_stop_token_is_asked_to_stop) {
  auto job = [this](const std::stop_token& stop) {
    begun.release();
    while (!stop.stop_requested()) std::this_thread::yield();
    return 7;
  };
  auto works = [&]() -> Task<> { EXPECT_EQ(co_await narrow->run(job), 7); };
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(works());
    co_await sleep({});
    begun.acquire();
    scope.cancel();
    co_await scope.join();
  });
}

TEST_P(AsyncPoolTest, the_end_of_the_pool_drops_what_is_queued_and_waits_for_what_runs) {
  auto queued = [&]() -> Task<> {
    auto job = [] {
      ADD_FAILURE() << "it ran";
      return 1;
    };
    notes.push_back(error_of(co_await narrow->run(job)).message());
  };
  auto ends = [&]() -> Task<> {
    std::jthread opens([this, &pool = *narrow] {
      while (pool.stats().queued > 0) std::this_thread::yield();
      gate.release();
    });
    narrow.reset();
    co_return;
  };
  auto rest = [&]() -> Task<> {
    begun.acquire();
    co_await when_all(queued(), ends());
  };
  run([&]() -> Task<> { co_await when_all(holds(), rest()); });
  EXPECT_THAT(notes, testing::UnorderedElementsAre("held", errno_code(ESHUTDOWN).message()));
}

TEST_P(AsyncPoolTest, a_loop_that_ends_waits_for_the_job_that_uses_its_frame) {
  std::atomic<bool> finished = false;
  auto works = [&]() -> Task<> {
    auto job = [&] {
      begun.release();
      gate.acquire();
      finished = true;
      return 1;
    };
    EXPECT_EQ(co_await narrow->run(job), 1);
    notes.emplace_back("over");
  };
  {
    Scope scope(loop());
    scope.spawn(works());
    loop().post([this] { loop().stop(); });
    ASSERT_TRUE(loop().run());
    begun.acquire();
    gate.release();
  }
  EXPECT_TRUE(finished);
  EXPECT_THAT(notes, ElementsAre("over"));
}

TEST_P(AsyncPoolTest, many_jobs_race_their_deadlines) {
  const auto pool = AsyncPool::start({.threads = 2, .queue_limit = 64}).value();
  std::atomic<int> ran = 0;
  int answered = 0;
  auto works = [&](int i) -> Task<> {
    int own = i;
    auto job = [&] {
      ran.fetch_add(1);
      return own;
    };
    auto answer = co_await pool->run(job).within(Duration(i * 1000));
    if (!answer) co_return;
    EXPECT_EQ(*answer, i);
    ++answered;
  };
  run([&]() -> Task<> {
    Scope scope(loop());
    for (int i = 0; i < 500; ++i) {
      scope.spawn(works(i));
      if (i % 50 == 0) co_await sleep(milliseconds(1));
    }
    co_await scope.join();
  });
  EXPECT_EQ(ran, answered);
}

PEAL_TEST_ON_EVERY_ENGINE(AsyncPoolTest);

}  // namespace
}  // namespace peal
