// SPDX-License-Identifier: BSD-3-Clause
// The tests run in simulated time, so that waiting takes no real time.
#include <load/session/idle_timer.h>

#include <gtest/gtest.h>

#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_world.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class IdleTimerTest : public testing::Test {
 protected:
  // Calls `how`, a function that reports activity, `times` times: once every 9 s. Timers of the loop make the calls.
  void happens(int times, void (IdleTimer::*how)()) {
    for (int i = 1; i <= times; ++i) {
      loop_->after(i * 9s, [this, how] { (idle_.*how)(); });
    }
  }

  SimWorld world_{1};
  SimLoop loop_{world_};
  int ends_ = 0;
  IdleTimer idle_{*loop_, 10s, [this] { ++ends_; }};
};

TEST_F(IdleTimerTest, on_idle_is_called_when_the_timeout_is_over_and_not_before) {
  world_.run_for(9'999ms);
  EXPECT_EQ(ends_, 0);
  world_.run_for(2ms);
  EXPECT_EQ(ends_, 1);
}

TEST_F(IdleTimerTest, during_a_long_silence_on_idle_is_called_once_per_timeout) {
  world_.run_for(45s);
  EXPECT_EQ(ends_, 4);
}

TEST_F(IdleTimerTest, a_touch_in_time_postpones_on_idle) {
  happens(5, &IdleTimer::touch);
  world_.run_for(54s);
  EXPECT_EQ(ends_, 0);
  world_.run_for(2s);
  EXPECT_EQ(ends_, 1) << "10 s after the fifth touch, at 45 s";
}

TEST_F(IdleTimerTest, rearm_postpones_on_idle_as_a_touch_does) {
  happens(5, &IdleTimer::rearm);
  world_.run_for(54s);
  EXPECT_EQ(ends_, 0);
  EXPECT_EQ(loop_->stats().timers_fired, 5U) << "only the test's own timers fired: a moved timer does not fire early";
  world_.run_for(2s);
  EXPECT_EQ(ends_, 1);
}

TEST_F(IdleTimerTest, after_restart_the_timeout_counts_from_there) {
  world_.run_for(9s);
  idle_.restart();
  world_.run_for(9s);
  EXPECT_EQ(ends_, 0);
  world_.run_for(2s);
  EXPECT_EQ(ends_, 1);
}

TEST_F(IdleTimerTest, the_deadline_follows_the_last_activity) {
  const TimePoint first = idle_.deadline();
  happens(1, &IdleTimer::touch);
  world_.run_for(9'500ms);
  EXPECT_GE(idle_.deadline() - first, 9s);
  EXPECT_LT(idle_.deadline() - first, 9'100ms);
}

TEST(IdleTimer, a_destroyed_timer_calls_nothing) {
  SimWorld world(1);
  SimLoop loop(world);
  bool told = false;
  {
    const IdleTimer idle(*loop, 1s, [&] { told = true; });
  }
  world.run_for(10s);
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace peal::load
