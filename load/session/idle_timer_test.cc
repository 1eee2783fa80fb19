// SPDX-License-Identifier: BSD-3-Clause
// In a simulated world, where seconds cost nothing.
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
  // Something happens nine seconds apart, `times` times, from inside the loop as a byte would.
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

TEST_F(IdleTimerTest, silence_is_told_when_it_has_lasted_and_not_before) {
  world_.run_for(9'999ms);
  EXPECT_EQ(ends_, 0);
  world_.run_for(2ms);
  EXPECT_EQ(ends_, 1);
}

TEST_F(IdleTimerTest, going_silence_is_told_once_a_timeout) {
  world_.run_for(45s);
  EXPECT_EQ(ends_, 4);
}

TEST_F(IdleTimerTest, a_touch_in_time_puts_it_off) {
  happens(5, &IdleTimer::touch);
  world_.run_for(54s);
  EXPECT_EQ(ends_, 0);
  world_.run_for(2s);
  EXPECT_EQ(ends_, 1) << "10 s after the fifth touch, at 45 s";
}

TEST_F(IdleTimerTest, moving_the_timer_puts_it_off_as_a_touch_does) {
  happens(5, &IdleTimer::rearm);
  world_.run_for(54s);
  EXPECT_EQ(ends_, 0);
  EXPECT_EQ(loop_->stats().timers_fired, 5U) << "a moved timer need not fire to find out: these are the test's own";
  world_.run_for(2s);
  EXPECT_EQ(ends_, 1);
}

TEST_F(IdleTimerTest, begun_anew_it_counts_from_there) {
  world_.run_for(9s);
  idle_.restart();
  world_.run_for(9s);
  EXPECT_EQ(ends_, 0);
  world_.run_for(2s);
  EXPECT_EQ(ends_, 1);
}

TEST_F(IdleTimerTest, its_deadline_follows_what_happens) {
  const TimePoint first = idle_.deadline();
  happens(1, &IdleTimer::touch);
  world_.run_for(9'500ms);
  EXPECT_GE(idle_.deadline() - first, 9s);
  EXPECT_LT(idle_.deadline() - first, 9'100ms);
}

TEST(IdleTimer, destroyed_it_tells_nothing) {
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
