// SPDX-License-Identifier: BSD-3-Clause
// Tests how a loop spins, on a clock that moves 1 us with each poll that finds no event. spin_policy_test.cc tests when
// a loop spins.
#include <thread>

#include <gtest/gtest.h>

#include <peal/loop/loop.h>
#include <tests/support/engines/fake_engine.h>

namespace peal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeEngine;

constexpr Spin kBound50{.mode = Spin::Mode::kBound, .bound = microseconds(50)};

class LoopSpinTest : public testing::Test {
 protected:
  void make(Spin spin) { loop.emplace(std::make_unique<FakeEngine>(world), LoopOptions{.spin = spin}); }
  void stop_after(Duration delay) {
    world->plan(delay, [this] { loop->stop(); });
  }
  // Delivers `count` events, one every `gap`.
  void keep_coming(Duration gap, int count) {
    for (int i = 1; i <= count; ++i) world->plan(gap * i, [] {});
  }

  std::shared_ptr<FakeEngine::World> world = std::make_shared<FakeEngine::World>();
  std::optional<Loop> loop;
};

TEST_F(LoopSpinTest, event_inside_the_bound_is_met_awake) {
  make(kBound50);
  stop_after(microseconds(20));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(world->slept, Duration::zero());
  EXPECT_EQ(loop->stats().spins, 1u);
  EXPECT_EQ(loop->stats().spins_won, 1u);
}

TEST_F(LoopSpinTest, event_beyond_the_bound_is_slept_for_after_the_bound) {
  make(kBound50);
  stop_after(milliseconds(1));
  ASSERT_TRUE(loop->run());
  EXPECT_NEAR(static_cast<double>((milliseconds(1) - world->slept).count()), 50e3, 2e3);
  EXPECT_EQ(loop->stats().spins, 1u);
  EXPECT_EQ(loop->stats().spins_won, 0u);
}

TEST_F(LoopSpinTest, posted_task_ends_a_spin_and_needs_no_wake_up) {
  make(Spin{.mode = Spin::Mode::kBound, .bound = kMaxSpin});
  world->poll_cost = Duration(50);
  world->plan(microseconds(10), [&] { std::thread([&] { loop->post([&] { loop->stop(); }); }).join(); });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(static_cast<FakeEngine&>(loop->engine()).wakes(), 0u);
  EXPECT_EQ(world->slept, Duration::zero());
}

TEST_F(LoopSpinTest, spin_ends_at_the_next_timer) {
  make(kBound50);
  world->now += microseconds(980);
  const TimePoint due = world->now + microseconds(20);
  TimePoint fired;
  loop->at(due, [&] {
    fired = world->now;
    loop->stop();
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(fired, due);
  EXPECT_EQ(world->slept, Duration::zero());
}

TEST_F(LoopSpinTest, busy_loop_spins_on_its_first_poll_and_reads_no_clock) {
  make(kBound50);
  keep_coming(Duration::zero(), 1);
  int left = 1000;
  std::function<void()> again = [&] { --left > 0 ? world->plan({}, again) : loop->stop(); };
  world->plan({}, again);
  const uint64_t before = world->clock_reads;
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(world->clock_reads, before);
  EXPECT_EQ(loop->stats().spins, 0u);
  EXPECT_TRUE(world->deadlines.empty());
}

TEST_F(LoopSpinTest, clock_that_stands_still_does_not_trap_the_loop) {
  make(kBound50);
  world->poll_cost = Duration::zero();
  stop_after(milliseconds(1));
  ASSERT_TRUE(loop->run());
  EXPECT_LE(world->polls, 2000u);
}

TEST_F(LoopSpinTest, auto_spins_while_events_come_quickly) {
  make(Spin{.mode = Spin::Mode::kAuto});
  keep_coming(microseconds(20), 1000);
  stop_after(microseconds(20 * 1001));
  ASSERT_TRUE(loop->run());
  EXPECT_GE(loop->stats().spins_won, 990u);
  EXPECT_LE(world->deadlines.size(), 10u);
}

TEST_F(LoopSpinTest, auto_stops_burning_when_the_loop_falls_idle) {
  make(Spin{.mode = Spin::Mode::kAuto});
  keep_coming(microseconds(20), 1000);
  for (int i = 1; i <= 100; ++i) world->plan(seconds(i), [] {});
  stop_after(seconds(101));
  ASSERT_TRUE(loop->run());
  const auto lost = loop->stats().spins - loop->stats().spins_won;
  EXPECT_GE(lost, 1u);
  EXPECT_LE(lost, 5u);
}

TEST_F(LoopSpinTest, off_never_polls) {
  make(Spin{});
  keep_coming(microseconds(20), 100);
  stop_after(microseconds(20 * 101));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(world->polls, 0u);
}

}  // namespace
}  // namespace peal
