// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/parts/spin_policy.h>

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace peal {
namespace {

using detail::SpinPolicy;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Duration kBound = microseconds(50);
constexpr Duration kWakeUp = microseconds(30);  // the wake-up cost of the simulated machine

// A simulated loop whose events come at given times. It counts the time spent spinning and the events caught by a spin.
struct Outcome {
  Duration burnt{};
  Duration passed{};
  int met = 0;
  int events = 0;

  void event_after(Duration gap, SpinPolicy& policy) {
    ++events;
    passed += gap;
    if (!policy.should_spin()) {
      policy.note_sleep(gap + kWakeUp);
      return;
    }
    burnt += std::min(gap, policy.bound());
    met += gap < policy.bound();
    policy.note_spin(gap < policy.bound());
  }
  double burnt_share() const { return static_cast<double>(burnt.count()) / static_cast<double>(passed.count()); }
};

SpinPolicy automatic() { return SpinPolicy({.mode = Spin::Mode::kAuto, .bound = kBound}); }

TEST(SpinPolicy, off_and_bound_do_not_change_their_mind) {
  SpinPolicy off({.mode = Spin::Mode::kOff});
  SpinPolicy bound({.mode = Spin::Mode::kBound, .bound = microseconds(7)});
  for (int i = 0; i < 1000; ++i) {
    off.note_sleep(microseconds(1));
    bound.note_spin(false);
  }
  EXPECT_FALSE(off.should_spin());
  EXPECT_TRUE(bound.should_spin());
  EXPECT_EQ(bound.bound(), microseconds(7));
}

TEST(SpinPolicy, auto_starts_asleep_and_spins_after_a_few_short_waits) {
  SpinPolicy policy = automatic();
  EXPECT_FALSE(policy.should_spin());
  Outcome outcome;
  for (int i = 0; i < 1000; ++i) outcome.event_after(microseconds(20), policy);
  EXPECT_TRUE(policy.should_spin());
  EXPECT_GE(outcome.met, 990);
}

TEST(SpinPolicy, idle_loop_burns_nothing) {
  SpinPolicy policy = automatic();
  Outcome outcome;
  for (int i = 0; i < 1000; ++i) outcome.event_after(milliseconds(5), policy);
  EXPECT_EQ(outcome.burnt, Duration::zero());
}

TEST(SpinPolicy, loop_that_falls_idle_loses_at_most_five_spins) {
  SpinPolicy policy = automatic();
  Outcome busy;
  for (int i = 0; i < 10'000; ++i) busy.event_after(microseconds(10), policy);
  Outcome idle;
  for (int i = 0; i < 1000; ++i) idle.event_after(milliseconds(5), policy);
  EXPECT_GT(idle.burnt, Duration::zero());
  EXPECT_LE(idle.burnt, 5 * kBound);
}

TEST(SpinPolicy, events_that_always_come_just_too_late_cost_next_to_nothing) {
  SpinPolicy policy = automatic();
  Outcome outcome;
  for (int i = 0; i < 100'000; ++i) outcome.event_after(microseconds(60), policy);
  EXPECT_LT(outcome.burnt_share(), 0.01);
}

TEST(SpinPolicy, after_bad_times_good_ones_are_noticed_within_a_tenth_of_a_second) {
  SpinPolicy policy = automatic();
  Outcome bad;
  for (int i = 0; i < 100'000; ++i) bad.event_after(microseconds(60), policy);
  Outcome good;
  while (!policy.should_spin()) good.event_after(microseconds(20), policy);
  EXPECT_LE(good.passed, milliseconds(100));
}

TEST(SpinPolicy, bursts_are_met_awake_and_the_pauses_between_cost_one_bound_each) {
  SpinPolicy policy = automatic();
  Outcome outcome;
  for (int burst = 0; burst < 1000; ++burst) {
    for (int i = 0; i < 10; ++i) outcome.event_after(microseconds(10), policy);
    outcome.event_after(milliseconds(10), policy);
  }
  EXPECT_GE(outcome.met, 9900);
  EXPECT_LT(outcome.burnt_share(), 0.02);
}

TEST(SpinPolicy, rare_random_events_are_not_waited_for) {
  SpinPolicy policy = automatic();
  std::mt19937_64 random(20);
  std::exponential_distribution<double> gap_us(1.0 / 500.0);
  Outcome outcome;
  for (int i = 0; i < 100'000; ++i) {
    outcome.event_after(nanoseconds(static_cast<int64_t>(gap_us(random) * 1000)), policy);
  }
  EXPECT_LT(outcome.burnt_share(), 0.01);
}

TEST(SpinPolicyDeathTest, bound_out_of_range) {
  EXPECT_DEATH(SpinPolicy({.mode = Spin::Mode::kAuto, .bound = Duration::zero()}), "a spin of 0 ns");
  EXPECT_DEATH(SpinPolicy({.mode = Spin::Mode::kBound, .bound = kMaxSpin + nanoseconds(1)}), "a spin of 10000001 ns");
}

}  // namespace
}  // namespace peal
