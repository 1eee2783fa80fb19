// SPDX-License-Identifier: BSD-3-Clause
// Tests of RemoteTask: posts and timers that any thread starts and any thread cancels. The first tests use one thread
// and a clock of the test, the later ones several threads.
#include <peal/share/remote_task.h>

#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <tests/support/engines/fake_engine.h>
#include <tests/support/loop_thread.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::FakeEngine;
using testing::ElementsAre;

// Tells whether a closure was destroyed: the closure holds give(), and over() is true after its end.
struct Life {
  std::shared_ptr<int> held = std::make_shared<int>(0);
  std::weak_ptr<int> seen = held;
  std::shared_ptr<int> give() { return std::move(held); }
  bool over() const { return seen.expired(); }
};

class RemoteTaskTest : public testing::Test {
 protected:
  void SetUp() override { world->poll_cost = {}; }
  void TearDown() override { set_log_sink({}); }
  // Has the loop do all that is due now, without moving the clock.
  void step() {
    for (int turn = 0; turn < 3; ++turn) {
      loop->mailbox()->insist([] {});
      loop->step();
    }
  }
  void begin() { ASSERT_TRUE(loop->begin()); }
  void pass(Duration time) {
    world->now += time;
    step();
  }

  std::shared_ptr<FakeEngine::World> world = std::make_shared<FakeEngine::World>();
  std::unique_ptr<Loop> loop =
      std::make_unique<Loop>(std::make_unique<FakeEngine>(world), LoopOptions{.post_limit = 4});
  std::vector<std::string> notes;
  Callback<void()> note(std::string text) {
    return [this, text] { notes.push_back(text); };
  }
};

TEST_F(RemoteTaskTest, a_post_runs_in_its_order_and_cannot_be_cancelled_afterwards) {
  const RemoteTask one = post_on(*loop, note("one"));
  const RemoteTask two = post_on(*loop, note("two"));
  EXPECT_TRUE(one && two);
  begin();
  step();
  EXPECT_THAT(notes, ElementsAre("one", "two"));
  EXPECT_FALSE(one.cancel());
}

TEST_F(RemoteTaskTest, a_cancelled_post_never_runs_and_its_closure_dies_with_the_turn) {
  Life life;
  const RemoteTask task = post_on(*loop, [this, held = life.give()] { notes.emplace_back("ran"); });
  EXPECT_TRUE(task.cancel());
  EXPECT_FALSE(task.cancel());
  EXPECT_FALSE(life.over());
  begin();
  step();
  EXPECT_TRUE(life.over());
  EXPECT_THAT(notes, ElementsAre());
}

TEST_F(RemoteTaskTest, a_delay_counts_from_the_call_not_from_the_arrival) {
  TimePoint fired{};
  const TimePoint called = world->now;
  after_on(*loop, milliseconds(10), [&] { fired = world->now; });
  world->now += milliseconds(7);
  begin();
  step();
  EXPECT_EQ(fired, TimePoint{});
  pass(milliseconds(3));
  EXPECT_EQ(fired, called + milliseconds(10));
}

TEST_F(RemoteTaskTest, a_delay_beyond_all_time_waits_for_ever) {
  const RemoteTask task = after_on(*loop, Duration::max(), note("ran"));
  begin();
  pass(hours(24));
  EXPECT_TRUE(task.cancel());
  step();
  EXPECT_EQ(loop->timers_pending(), 0U);
}

TEST_F(RemoteTaskTest, a_cancelled_timer_leaves_the_wheel) {
  Life on_its_way, in_the_wheel;
  const RemoteTask one = after_on(*loop, hours(1), [held = on_its_way.give()] {});
  EXPECT_TRUE(one.cancel());
  begin();
  step();
  EXPECT_EQ(loop->timers_pending(), 0U);
  EXPECT_TRUE(on_its_way.over());
  const RemoteTask two = after_on(*loop, hours(1), [held = in_the_wheel.give()] {});
  step();
  EXPECT_EQ(loop->timers_pending(), 1U);
  EXPECT_TRUE(two.cancel());
  EXPECT_FALSE(in_the_wheel.over()) << "it dies on the loop's thread";
  step();
  EXPECT_EQ(loop->timers_pending(), 0U);
  EXPECT_TRUE(in_the_wheel.over());
}

TEST_F(RemoteTaskTest, a_period_is_kept_from_the_call_on_until_it_is_cancelled) {
  std::vector<Duration> fired;
  const TimePoint called = world->now;
  const RemoteTask task = every_on(*loop, milliseconds(10), [&] { fired.push_back(world->now - called); });
  world->now += milliseconds(4);
  begin();
  step();
  pass(milliseconds(6));
  pass(milliseconds(10));
  EXPECT_TRUE(task.cancel());
  pass(milliseconds(10));
  EXPECT_THAT(fired, ElementsAre(milliseconds(10), milliseconds(20)));
  EXPECT_EQ(loop->timers_pending(), 0U);
}

TEST_F(RemoteTaskTest, what_is_being_called_is_not_withdrawn_but_is_the_last_call) {
  Life life;
  int calls = 0;
  RemoteTask task;
  task = every_on(*loop, milliseconds(10), [&, held = life.give()] {
    ++calls;
    EXPECT_FALSE(task.cancel());
    EXPECT_FALSE(task.cancel());
    EXPECT_NE(held, nullptr) << "the closure outlives its call";
  });
  begin();
  step();
  pass(milliseconds(10));
  EXPECT_TRUE(life.over());
  pass(milliseconds(30));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(loop->timers_pending(), 0U);
}

TEST_F(RemoteTaskTest, what_throws_is_counted_and_a_period_goes_on) {
  set_log_sink([](const LogRecord&) {});
  int calls = 0;
  const RemoteTask task = every_on(*loop, milliseconds(10), [&] {
    ++calls;
    throw std::runtime_error("no");
  });
  begin();
  step();
  pass(milliseconds(10));
  pass(milliseconds(10));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(loop->stats().exceptions, 2U);
  EXPECT_TRUE(task.cancel());
}

TEST_F(RemoteTaskTest, a_period_that_is_none_is_refused) {
  EXPECT_THROW(every_on(*loop, Duration{}, [] {}), std::invalid_argument);
}

TEST_F(RemoteTaskTest, a_full_mailbox_refuses_tasks_and_takes_their_cancelling) {
  begin();
  const RemoteTask timer = after_on(*loop, hours(1), [] {});
  step();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(post_on(*loop, [] {}));
  Life life;
  const RemoteTask refused = after_on(*loop, hours(1), [held = life.give()] {});
  EXPECT_FALSE(refused);
  EXPECT_TRUE(life.over());
  EXPECT_FALSE(refused.cancel());
  EXPECT_FALSE(post_on(*loop, [] {}));
  EXPECT_TRUE(timer.cancel());
  step();
  EXPECT_EQ(loop->timers_pending(), 0U);
}

TEST_F(RemoteTaskTest, the_end_of_the_loop_runs_posts_drops_timers_and_refuses_the_rest) {
  Life timers;
  const RemoteTask timer = after_on(*loop, milliseconds(1), [held = timers.give()] {});
  begin();
  step();
  const RemoteTask post = post_on(*loop, note("posted"));
  const RemoteTask cancelled = post_on(*loop, note("cancelled"));
  const RemoteTask late = after_on(*loop, milliseconds(1), note("late"));
  EXPECT_TRUE(cancelled.cancel());
  loop->end();
  EXPECT_THAT(notes, ElementsAre("posted"));
  EXPECT_TRUE(timers.over());
  EXPECT_FALSE(timer.cancel());
  EXPECT_FALSE(late.cancel());
  EXPECT_FALSE(post_on(*loop, note("refused")));
  EXPECT_FALSE(every_on(*loop, milliseconds(1), note("refused")));
  loop.reset();
  EXPECT_FALSE(post.cancel());
  EXPECT_FALSE(RemoteTask().cancel());
}

TEST_F(RemoteTaskTest, a_loop_that_never_ran_drops_what_it_was_given) {
  Life life;
  const RemoteTask post = post_on(*loop, [held = life.give()] {});
  const RemoteTask timer = after_on(*loop, hours(1), [] {});
  loop.reset();
  EXPECT_TRUE(life.over());
  EXPECT_FALSE(post.cancel());
  EXPECT_FALSE(timer.cancel());
}

TEST_F(RemoteTaskTest, on_the_loops_own_thread_timers_are_there_at_once) {
  loop->post([this] {
    const RemoteTask task = after_on(*loop, hours(1), [] {});
    EXPECT_EQ(loop->timers_pending(), 1U);
    EXPECT_TRUE(task.cancel());
    EXPECT_EQ(loop->timers_pending(), 0U);
  });
  begin();
  step();
}

class RemoteTaskThreadsTest : public test::LoopEngineTest {};

TEST_P(RemoteTaskThreadsTest, beginning_and_cancelling_race_and_exactly_one_wins) {
  test::LoopThread thread(options());
  std::atomic<int> ran = 0;
  int withdrawn = 0;
  std::vector<RemoteTask> tasks;
  for (int i = 0; i < 3000; ++i) {
    RemoteTask task = i % 2 == 0 ? post_on(thread.loop(), [&] { ++ran; })
                                 : after_on(thread.loop(), Duration((i % 7) * 200'000), [&] { ++ran; });
    ASSERT_TRUE(task);
    tasks.push_back(std::move(task));
    if (i >= 20) withdrawn += tasks[static_cast<size_t>(i) - 20].cancel() ? 1 : 0;
  }
  for (const RemoteTask& task : tasks) withdrawn += task.cancel() ? 1 : 0;
  EXPECT_EQ(test::ask(thread.loop(), [&] { return thread.loop().timers_pending(); }), 0U);
  EXPECT_EQ(ran + withdrawn, 3000);
}

TEST_P(RemoteTaskThreadsTest, many_timers_set_and_cancelled_elsewhere_do_not_pile_up) {
  test::LoopThread thread(options());
  Loop& loop = thread.loop();
  const auto held = std::make_shared<int>(0);
  size_t most = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<RemoteTask> tasks;
    for (int i = 0; i < 1000; ++i) tasks.push_back(after_on(loop, hours(1), [held] {}));
    for (const RemoteTask& task : tasks) EXPECT_TRUE(task.cancel());
    most = std::max(most, test::ask(loop, [&] { return loop.timers_pending(); }));
  }
  EXPECT_EQ(most, 0U);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(RemoteTaskThreadsTest, threads_cancel_what_others_have_set_while_the_loop_ends) {
  for (int round = 0; round < 20; ++round) {
    test::LoopThread thread(options());
    const auto held = std::make_shared<int>(0);
    std::vector<RemoteTask> tasks;
    for (int i = 0; i < 50; ++i) {
      tasks.push_back(every_on(thread.loop(), milliseconds(1), [held] {}));
      tasks.push_back(post_on(thread.loop(), [held] {}));
    }
    std::latch start(3);
    std::vector<std::jthread> cancellers;
    for (int i = 0; i < 2; ++i) {
      cancellers.emplace_back([&] {
        start.arrive_and_wait();
        for (const RemoteTask& task : tasks) task.cancel();
      });
    }
    start.arrive_and_wait();
    thread.finish();
    cancellers.clear();
    EXPECT_EQ(held.use_count(), 1);
  }
}

PEAL_TEST_ON_EVERY_ENGINE(RemoteTaskThreadsTest);

}  // namespace
}  // namespace peal
