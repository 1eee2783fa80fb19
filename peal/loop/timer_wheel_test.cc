// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/timer_wheel.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TimePoint at(int64_t tick, int64_t ns = 0) { return TimePoint(milliseconds(tick)) + nanoseconds(ns); }

// Each timer writes its letter when it fires.
struct TimerWheelTest : testing::Test {
  TimerWheel::Callback writes(char letter) {
    return [this, letter] { log += letter; };
  }
  std::string fired_by(TimePoint now) {
    log.clear();
    const std::size_t count = wheel.advance(now);
    EXPECT_EQ(count, log.size());
    return log;
  }

  std::string log;
  TimerWheel wheel{at(0)};
};

struct CallsWhenDestroyed {
  explicit CallsWhenDestroyed(std::function<void()> what) : call(std::move(what)) {}
  ~CallsWhenDestroyed() { call(); }
  std::function<void()> call;
};

TEST_F(TimerWheelTest, never_fires_early_to_the_nanosecond) {
  wheel.add(at(5, 1), writes('a'));
  wheel.add(at(5), writes('b'));
  wheel.add(at(5, 999'999), writes('c'));
  EXPECT_EQ(wheel.next(), at(5));
  EXPECT_EQ(fired_by(at(5, -1)), "");
  EXPECT_EQ(fired_by(at(5)), "b");
  EXPECT_EQ(fired_by(at(6, -1)), "");
  EXPECT_EQ(wheel.next(), at(6));
  EXPECT_EQ(fired_by(at(6)), "ac");
  EXPECT_EQ(wheel.next(), kNever);
}

TEST_F(TimerWheelTest, fires_by_tick_then_in_order_of_adding) {
  wheel.add(at(70'000), writes('d'));  // two cascades away
  wheel.add(at(300), writes('b'));
  wheel.add(at(2), writes('a'));
  EXPECT_EQ(fired_by(at(200)), "a");
  wheel.add(at(70'000), writes('e'));
  wheel.add(at(300), writes('c'));
  EXPECT_EQ(fired_by(at(69'999)), "bc");
  wheel.add(at(70'000), writes('f'));
  EXPECT_EQ(fired_by(at(100'000)), "def");
}

TEST_F(TimerWheelTest, ticks_around_the_wrap_of_every_level_fire_exactly) {
  for (int level = 1; level <= 5; ++level) {
    const int64_t span = int64_t{1} << (8 * level);
    for (const int64_t start : {int64_t{0}, span - 2, span - 1, span, span + 1, 255 * span - 1, 255 * span}) {
      for (const int64_t delay : {int64_t{1}, int64_t{2}, int64_t{255}, int64_t{256}, span - 1, span, span + 1}) {
        if (start + delay >= int64_t{1} << 43) continue;
        TimerWheel local(at(start));
        bool fired = false;
        local.add(at(start + delay), [&] { fired = true; });
        // A loop that sleeps until next() reaches the timer in a few steps and never late.
        int steps = 0;
        for (; local.next() < at(start + delay); ++steps) ASSERT_EQ(local.advance(local.next()), 0u);
        EXPECT_LE(steps, 5);
        EXPECT_EQ(local.next(), at(start + delay));
        EXPECT_EQ(local.advance(at(start + delay, -1)), 0u);
        EXPECT_FALSE(fired);
        EXPECT_EQ(local.advance(at(start + delay)), 1u);
        EXPECT_TRUE(fired) << start << " + " << delay;
      }
    }
  }
}

TEST_F(TimerWheelTest, deadlines_reach_beyond_a_trillion_ticks_and_to_never) {
  const int64_t far = int64_t{1} << 40;
  wheel.add(kNever, writes('z'));
  wheel.add(at(far + 3), writes('b'));
  wheel.add(at(far + 2), writes('a'));
  EXPECT_EQ(fired_by(at(far + 1)), "");
  EXPECT_EQ(fired_by(at(far + 2)), "a");
  EXPECT_EQ(fired_by(at(int64_t{1} << 43)), "b");
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_LE(wheel.next(), kNever);
  EXPECT_EQ(fired_by(kNever - nanoseconds(1'000'000)), "");
}

TEST_F(TimerWheelTest, clock_that_stands_still_or_goes_back_fires_what_is_due_at_once) {
  wheel.advance(at(10, 500));
  wheel.add(at(10, 500), writes('a'));
  wheel.add(TimePoint::min(), writes('b'));
  wheel.add(at(10, 501), writes('c'));
  EXPECT_EQ(wheel.next(), at(10, 500));
  EXPECT_EQ(fired_by(at(3)), "ab");
  EXPECT_EQ(fired_by(at(10, 999'999)), "");
  EXPECT_EQ(fired_by(at(11)), "c");
}

TEST_F(TimerWheelTest, timer_cancelled_by_another_of_the_same_advance_does_not_fire) {
  TimerId same_tick;
  TimerId later_tick;
  wheel.add(at(3), [&] {
    log += 'a';
    EXPECT_TRUE(wheel.cancel(same_tick));
    EXPECT_TRUE(wheel.cancel(later_tick));
    EXPECT_FALSE(wheel.cancel(same_tick));
  });
  same_tick = wheel.add(at(3), writes('b'));
  wheel.add(at(3), writes('c'));
  later_tick = wheel.add(at(4), writes('d'));
  EXPECT_EQ(fired_by(at(9)), "ac");
  EXPECT_EQ(wheel.size(), 0u);
}

TEST_F(TimerWheelTest, timer_moved_by_another_of_the_same_advance_fires_at_its_new_deadline) {
  TimerId moved;
  TimerId moved_to_now;
  wheel.add(at(3), [&] {
    log += 'a';
    EXPECT_TRUE(wheel.rearm(moved, at(20)));
    EXPECT_TRUE(wheel.rearm(moved_to_now, at(1)));
  });
  moved = wheel.add(at(3), writes('b'));
  moved_to_now = wheel.add(at(3), writes('c'));
  EXPECT_EQ(fired_by(at(9)), "a");
  EXPECT_EQ(fired_by(at(9)), "c");
  EXPECT_EQ(fired_by(at(20)), "b");
}

TEST_F(TimerWheelTest, timer_added_by_a_callback_waits_for_the_next_advance_even_if_due) {
  std::function<void()> again = [&] {
    log += 'a';
    wheel.add(at(1), [&] { again(); });
  };
  wheel.add(at(1), [&] { again(); });
  wheel.add(at(2), writes('b'));
  EXPECT_EQ(fired_by(at(5)), "ab");
  EXPECT_EQ(wheel.next(), at(5));
  EXPECT_EQ(fired_by(at(5)), "a");
  EXPECT_EQ(fired_by(at(5)), "a");
}

TEST_F(TimerWheelTest, late_use_of_an_id_does_nothing) {
  EXPECT_FALSE(wheel.cancel(TimerId{}));
  EXPECT_FALSE(wheel.cancel({7, 1}));
  EXPECT_FALSE(TimerId{});
  const TimerId fired = wheel.add(at(1), writes('a'));
  EXPECT_TRUE(fired);
  wheel.advance(at(1));
  EXPECT_FALSE(wheel.cancel(fired));
  const TimerId heir = wheel.add(at(2), writes('b'));
  EXPECT_EQ(heir.slot, fired.slot);
  EXPECT_NE(heir, fired);
  EXPECT_FALSE(wheel.cancel(fired));
  EXPECT_FALSE(wheel.rearm(fired, at(9)));
  EXPECT_EQ(fired_by(at(2)), "b");
}

TEST_F(TimerWheelTest, rearm_moves_earlier_and_later) {
  const TimerId a = wheel.add(at(100), writes('a'));
  const TimerId b = wheel.add(at(200'000), writes('b'));
  EXPECT_TRUE(wheel.rearm(a, at(1000)));
  EXPECT_TRUE(wheel.rearm(b, at(50)));
  EXPECT_EQ(wheel.next(), at(50));
  EXPECT_EQ(fired_by(at(999)), "b");
  EXPECT_EQ(fired_by(at(1000)), "a");
  EXPECT_FALSE(wheel.rearm(a, at(2000)));
}

TEST_F(TimerWheelTest, periodic_timer_does_not_drift) {
  int calls = 0;
  wheel.add_every(at(1, 500'000), nanoseconds(1'500'000), [&] { ++calls; });
  std::vector<int64_t> ticks;
  for (int64_t tick = 1; tick <= 9; ++tick) {
    if (wheel.advance(at(tick, 400'000)) > 0) ticks.push_back(tick);
  }
  EXPECT_EQ(ticks, (std::vector<int64_t>{2, 3, 5, 6, 8, 9}));  // 1.5 3 4.5 6 7.5 9
  EXPECT_EQ(calls, 6);
}

TEST_F(TimerWheelTest, periods_missed_in_a_stall_are_one_call_and_the_phase_is_kept) {
  wheel.add_every(at(10), milliseconds(10), writes('p'));
  EXPECT_EQ(fired_by(at(1003)), "p");
  EXPECT_EQ(fired_by(at(1009)), "");
  EXPECT_EQ(fired_by(at(1010)), "p");
  EXPECT_EQ(wheel.size(), 1u);
}

TEST_F(TimerWheelTest, period_shorter_than_a_tick_or_beyond_the_end_of_time) {
  wheel.add_every(TimePoint::min(), nanoseconds(1), writes('s'));
  const TimerId longest = wheel.add_every(at(1), Duration::max(), writes('l'));
  EXPECT_EQ(fired_by(at(0)), "s");
  EXPECT_EQ(fired_by(at(1)), "ls");  // s armed itself after l
  EXPECT_EQ(fired_by(at(1000)), "s");
  EXPECT_TRUE(wheel.cancel(longest));
}

TEST_F(TimerWheelTest, periodic_timer_cancelled_by_its_own_callback_survives_the_call) {
  auto token = std::make_shared<int>(0);
  std::weak_ptr<int> watch = token;
  TimerId id;
  id = wheel.add_every(at(1), milliseconds(1), [&, token = std::move(token)] {
    if (++*token < 3) return;
    EXPECT_TRUE(wheel.cancel(id));
    EXPECT_FALSE(wheel.cancel(id));
    EXPECT_FALSE(wheel.rearm(id, at(50)));
    const TimerId other = wheel.add(at(60), writes('o'));
    EXPECT_NE(other.slot, id.slot);
    EXPECT_EQ(*token, 3);  // the closure is not destroyed yet
    EXPECT_FALSE(watch.expired());
  });
  EXPECT_EQ(wheel.advance(at(1)) + wheel.advance(at(2)) + wheel.advance(at(3)) + wheel.advance(at(4)), 3u);
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(fired_by(at(60)), "o");
}

TEST_F(TimerWheelTest, periodic_timer_moves_its_own_phase) {
  TimerId id;
  id = wheel.add_every(at(10), milliseconds(10), [&] {
    log += 'p';
    if (log.size() == 1) {
      EXPECT_TRUE(wheel.rearm(id, at(15)));
    }
  });
  wheel.advance(at(10));
  wheel.advance(at(14));
  EXPECT_EQ(log, "p");
  wheel.advance(at(15));
  wheel.advance(at(24));
  EXPECT_EQ(log, "pp");
  wheel.advance(at(25));
  EXPECT_EQ(log, "ppp");
}

TEST_F(TimerWheelTest, once_timer_is_not_pending_in_its_own_callback) {
  TimerId id;
  id = wheel.add(at(1), [&] {
    EXPECT_EQ(wheel.size(), 0u);
    EXPECT_FALSE(wheel.cancel(id));
    log += 'a';
  });
  EXPECT_EQ(fired_by(at(1)), "a");
  EXPECT_FALSE(wheel.rearm(id, at(2)));
}

// Does what a connection does: an activity is one store, and the timer reads it only when it fires.
TEST_F(TimerWheelTest, idle_timeout_is_a_touch) {
  const Duration timeout = milliseconds(100);
  TimePoint last_activity = at(0);
  TimePoint armed = last_activity + timeout;
  TimerId id;
  id = wheel.add(armed, [&] {
    if (last_activity + timeout == armed) {
      log += 'i';
      return;
    }
    armed = last_activity + timeout;
    EXPECT_TRUE(wheel.rearm(id, armed));
  });
  for (int64_t now = 0; now <= 250; now += 10) {
    wheel.advance(at(now));
    last_activity = at(now);
  }
  EXPECT_EQ(wheel.size(), 1u);
  wheel.advance(at(349));
  EXPECT_EQ(log, "");
  wheel.advance(at(350));
  EXPECT_EQ(log, "i");
  EXPECT_EQ(wheel.size(), 0u);
  EXPECT_FALSE(wheel.cancel(id));
}

TEST_F(TimerWheelTest, timer_rearmed_then_cancelled_in_its_own_callback_is_gone) {
  TimerId id;
  id = wheel.add(at(1), [&] {
    EXPECT_TRUE(wheel.rearm(id, at(5)));
    EXPECT_EQ(wheel.size(), 1u);
    EXPECT_TRUE(wheel.cancel(id));
    EXPECT_FALSE(wheel.rearm(id, at(6)));
  });
  EXPECT_EQ(wheel.advance(at(1)), 1u);
  EXPECT_EQ(wheel.size(), 0u);
  EXPECT_EQ(wheel.next(), kNever);
}

TEST_F(TimerWheelTest, exception_comes_through_and_the_rest_fires_at_the_next_advance) {
  auto token = std::make_shared<int>(0);
  std::weak_ptr<int> watch = token;
  wheel.add(at(1), writes('a'));
  const TimerId spent = wheel.add(at(2), [token = std::move(token)] { throw std::runtime_error("once"); });
  wheel.add(at(2), writes('b'));
  wheel.add(at(300), writes('c'));
  EXPECT_THROW(wheel.advance(at(400)), std::runtime_error);
  EXPECT_EQ(log, "a");
  EXPECT_TRUE(watch.expired());
  EXPECT_FALSE(wheel.cancel(spent));
  EXPECT_EQ(wheel.size(), 2u);
  EXPECT_LE(wheel.next(), at(400));
  wheel.add(at(400), writes('d'));
  wheel.add(at(401), writes('e'));
  EXPECT_EQ(fired_by(at(400)), "bdc");
  EXPECT_EQ(fired_by(at(401)), "e");
}

TEST_F(TimerWheelTest, periodic_timer_that_throws_stays_armed) {
  const TimerId id = wheel.add_every(at(1), milliseconds(1), [] { throw 7; });
  EXPECT_THROW(wheel.advance(at(1)), int);
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_THROW(wheel.advance(at(2)), int);
  EXPECT_TRUE(wheel.cancel(id));
  EXPECT_EQ(wheel.advance(at(9)), 0u);
}

TEST_F(TimerWheelTest, cancel_destroys_the_closure_which_may_call_in) {
  TimerId other = wheel.add(at(7), writes('o'));
  TimerId self;
  auto guard = std::make_unique<CallsWhenDestroyed>([&] {
    EXPECT_FALSE(wheel.cancel(self));
    EXPECT_TRUE(wheel.cancel(other));
    wheel.add(at(8), writes('n'));
  });
  self = wheel.add(at(5), [guard = std::move(guard)] {});
  EXPECT_TRUE(wheel.cancel(self));
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_EQ(fired_by(at(9)), "n");
}

TEST_F(TimerWheelTest, destroying_the_wheel_destroys_closures_that_cancel_and_add) {
  int destroyed = 0;
  {
    std::vector<TimerId> ids(200);
    TimerWheel local(at(0));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto guard = std::make_unique<CallsWhenDestroyed>([&, i] {
        ++destroyed;
        local.cancel(ids[ids.size() - 1 - i]);
        if (i == 150) local.add(at(3), [last = std::make_unique<CallsWhenDestroyed>([&] { ++destroyed; })] {});
      });
      ids[i] = local.add(at(static_cast<int64_t>(i * i)), [guard = std::move(guard)] {});
    }
    local.advance(at(50));
    EXPECT_EQ(destroyed, 16);
  }
  EXPECT_EQ(destroyed, 201);
}

TEST_F(TimerWheelTest, many_timers_reuse_their_memory_last_in_first_out) {
  std::vector<TimerId> ids;
  ids.reserve(5000);
  for (int64_t i = 0; i < 5000; ++i) ids.push_back(wheel.add(at(i % 700 + 1), writes('x')));
  for (std::size_t i = 0; i < ids.size(); i += 2) EXPECT_TRUE(wheel.cancel(ids[i]));
  EXPECT_EQ(wheel.size(), 2500u);
  EXPECT_EQ(wheel.add(at(9), writes('x')).slot, ids[4998].slot);
  EXPECT_EQ(wheel.advance(at(700)), 2501u);
  EXPECT_EQ(wheel.next(), kNever);
}

TEST_F(TimerWheelTest, period_that_is_none_is_refused) {
  EXPECT_THROW(wheel.add_every(at(1), Duration::zero(), [] {}), std::invalid_argument);
  EXPECT_EQ(wheel.size(), 0U);
}

TEST_F(TimerWheelTest, programmer_errors_stop_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(wheel.add(at(1), nullptr), "without a callback");
  EXPECT_DEATH(TimerWheel(at(-1)), "before the epoch");
  EXPECT_DEATH(
      {
        wheel.add(at(1), [&] { wheel.advance(at(2)); });
        wheel.advance(at(1));
      },
      "advances its wheel");
}

}  // namespace
}  // namespace peal
