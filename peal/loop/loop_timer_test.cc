// SPDX-License-Identifier: BSD-3-Clause
// Tests the timers and the time of a loop, on a clock that the test moves. timer_wheel_test.cc tests the wheel alone.
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/loop/loop.h>
#include <tests/support/engines/fake_engine.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::FakeEngine;

class LoopTimerTest : public testing::Test {
 protected:
  void TearDown() override { set_log_sink({}); }
  void stop_after(Duration delay) {
    world->plan(delay, [this] { loop.stop(); });
  }
  Duration since_start() const { return world->now - start; }

  std::shared_ptr<FakeEngine::World> world = std::make_shared<FakeEngine::World>();
  const TimePoint start = world->now;
  Loop loop{std::make_unique<FakeEngine>(world), LoopOptions{}};
};

TEST_F(LoopTimerTest, timers_fire_at_their_time_in_order) {
  std::vector<std::pair<int, Duration>> fired;
  loop.after(milliseconds(30), [&] { fired.emplace_back(2, since_start()); });
  loop.after(milliseconds(10), [&] { fired.emplace_back(1, since_start()); });
  loop.at(start + hours(2), [&] {
    fired.emplace_back(3, since_start());
    loop.stop();
  });
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(fired,
            (std::vector<std::pair<int, Duration>>{{1, milliseconds(10)}, {2, milliseconds(30)}, {3, hours(2)}}));
  EXPECT_EQ(loop.stats().timers_fired, 3u);
}

TEST_F(LoopTimerTest, a_part_of_a_tick_is_rounded_up) {
  Duration fired{};
  loop.after(microseconds(1), [&] {
    fired = since_start();
    loop.stop();
  });
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(fired, milliseconds(1));
}

TEST_F(LoopTimerTest, delay_counts_from_the_call_not_from_the_turn) {
  Duration fired{};
  world->plan(milliseconds(1), [&] {
    EXPECT_EQ(loop.now(), world->now);
    world->now += milliseconds(20);  // a slow callback
    loop.after(milliseconds(10), [&] {
      fired = since_start();
      loop.stop();
    });
  });
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(fired, milliseconds(31));
}

TEST_F(LoopTimerTest, every_fires_first_after_one_period_and_does_not_drift) {
  std::vector<Duration> fired;
  loop.every(milliseconds(10), [&] {
    fired.push_back(since_start());
    world->now += microseconds(300);
  });
  stop_after(milliseconds(35));
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(fired, (std::vector<Duration>{milliseconds(10), milliseconds(20), milliseconds(30)}));
}

TEST_F(LoopTimerTest, timer_cancelled_in_its_own_tick_does_not_fire) {
  bool fired = false;
  TimerId second;
  loop.after(milliseconds(5), [&] { EXPECT_TRUE(loop.cancel(second)); });
  second = loop.after(milliseconds(5), [&] { fired = true; });
  stop_after(milliseconds(50));
  ASSERT_TRUE(loop.run());
  EXPECT_FALSE(fired);
  EXPECT_FALSE(loop.cancel(second));
}

TEST_F(LoopTimerTest, timer_rearmed_by_an_event_fires_earlier) {
  Duration fired{};
  const TimerId timer = loop.after(hours(1), [&] { fired = since_start(); });
  world->plan(milliseconds(3), [&] { EXPECT_TRUE(loop.rearm(timer, start + milliseconds(7))); });
  stop_after(milliseconds(20));
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(fired, milliseconds(7));
}

TEST_F(LoopTimerTest, endless_delays_saturate) {
  loop.after(Duration::max(), [] { FAIL() << "292 years have passed"; });
  loop.after(Duration::min(), [&] { loop.stop(); });
  ASSERT_TRUE(loop.run());
}

TEST_F(LoopTimerTest, loop_sleeps_until_its_next_timer_and_without_one_until_an_event) {
  loop.after(milliseconds(10), [] {});
  stop_after(milliseconds(40));
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(world->deadlines, (std::vector<TimePoint>{start + milliseconds(10), kNever}));
}

TEST_F(LoopTimerTest, turns_without_timers_read_no_clock) {
  for (int i = 1; i <= 100; ++i) world->plan(milliseconds(i), [] {});
  stop_after(milliseconds(101));
  const uint64_t before = world->clock_reads;
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(loop.stats().turns, 101u);
  EXPECT_EQ(world->clock_reads, before);
}

TEST_F(LoopTimerTest, time_stands_still_within_a_turn) {
  world->plan(milliseconds(1), [&] {
    const uint64_t before = world->clock_reads;
    const TimePoint first = loop.now();
    world->now += milliseconds(3);
    EXPECT_EQ(loop.now(), first);
    EXPECT_EQ(world->clock_reads, before + 1);
  });
  world->plan(milliseconds(8), [&] {
    EXPECT_EQ(loop.now(), world->now);
    loop.stop();
  });
  ASSERT_TRUE(loop.run());
}

TEST_F(LoopTimerTest, throwing_timer_is_spent_and_the_rest_fires_in_the_next_turn) {
  set_log_sink([](const LogRecord&) {});
  int fired = 0;
  loop.after(milliseconds(5), [] { throw std::runtime_error("no"); });
  loop.after(milliseconds(5), [&] { ++fired; });
  loop.after(milliseconds(5), [&] { ++fired; });
  stop_after(milliseconds(9));
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(fired, 2);
  EXPECT_EQ(loop.stats().exceptions, 1u);
  EXPECT_EQ(loop.stats().timers_fired, 3u);
}

TEST_F(LoopTimerTest, timer_that_rearms_itself_at_once_and_throws_starves_nobody) {
  set_log_sink([](const LogRecord&) {});
  int calls = 0;
  TimerId timer;
  timer = loop.after(milliseconds(1), [&] {
    if (++calls == 100) loop.post([&] { loop.stop(); });
    loop.rearm(timer, loop.now());
    throw std::runtime_error("again");
  });
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(calls, 100);
  EXPECT_EQ(loop.stats().exceptions, 100u);
}

}  // namespace
}  // namespace peal
