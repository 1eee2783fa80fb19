// SPDX-License-Identifier: BSD-3-Clause
// Tests how the turns of a loop are timed. The test moves the clock.
#include <peal/observe/turn_times.h>

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <peal/loop/loop.h>
#include <tests/support/engines/fake_engine.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeEngine;

class TurnTimesTest : public testing::Test {
 protected:
  void make(Spin spin = {}) { loop.emplace(std::make_unique<FakeEngine>(world), LoopOptions{.spin = spin}); }
  // Schedules an event that arrives after `delay` and takes `busy`.
  void plan(Duration delay, Duration busy) {
    world->plan(delay, [this, busy] { world->now += busy; });
  }
  void stop_after(Duration delay) {
    world->plan(delay, [this] { loop->stop(); });
  }
  static int64_t ns(Duration time) { return time.count(); }

  std::shared_ptr<FakeEngine::World> world = std::make_shared<FakeEngine::World>();
  std::optional<Loop> loop;
};

TEST_F(TurnTimesTest, loop_that_nobody_measures_has_none) {
  make();
  stop_after(milliseconds(1));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(loop->turn_times(), nullptr);
}

TEST_F(TurnTimesTest, waiting_and_being_busy_are_told_apart) {
  make();
  loop->measure_turns();
  plan(milliseconds(10), milliseconds(3));
  plan(milliseconds(20), milliseconds(1));
  stop_after(milliseconds(30));
  ASSERT_TRUE(loop->run());
  const TurnTimes& times = *loop->turn_times();
  EXPECT_EQ(times.waiting(), milliseconds(10 + 7)) << "the third turn is not over";
  EXPECT_EQ(times.busy(), milliseconds(3 + 1));
  EXPECT_EQ(times.turns().total_count(), 2u);
  EXPECT_EQ(times.turns().max(), times.turns().highest_equivalent(ns(milliseconds(3))));
  EXPECT_EQ(times.turns().count_at_or_below(ns(milliseconds(2))), 1u);
}

TEST_F(TurnTimesTest, timers_and_tasks_are_busy_time) {
  make();
  loop->measure_turns();
  loop->after(milliseconds(5), [this] {
    world->now += milliseconds(2);
    loop->post([this] { world->now += milliseconds(4); });
  });
  stop_after(milliseconds(50));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(loop->turn_times()->busy(), milliseconds(2 + 4));
}

TEST_F(TurnTimesTest, what_is_done_before_a_wait_is_busy_time) {
  make();
  loop->measure_turns();
  loop->post([this] {
    loop->engine().before_wait([this] {
      world->now += milliseconds(2);
      return false;
    });
  });
  plan(milliseconds(10), milliseconds(3));
  stop_after(milliseconds(50));
  ASSERT_TRUE(loop->run());
  const Duration polled = world->poll_cost;  // the engine polls once because of the task
  EXPECT_EQ(loop->turn_times()->busy(), milliseconds(2 + 3) + polled);
  EXPECT_EQ(loop->turn_times()->waiting(), milliseconds(10 - 2) - polled) << "the last turn is not over";
}

TEST_F(TurnTimesTest, spinning_is_waiting) {
  make(Spin{.mode = Spin::Mode::kBound, .bound = microseconds(50)});
  loop->measure_turns();
  plan(microseconds(20), milliseconds(1));
  stop_after(milliseconds(2));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(loop->turn_times()->busy(), milliseconds(1));
  EXPECT_EQ(loop->turn_times()->waiting(), microseconds(20));
}

TEST_F(TurnTimesTest, asked_twice_it_goes_on) {
  make();
  loop->measure_turns();
  const TurnTimes* first = loop->turn_times();
  loop->measure_turns();
  EXPECT_EQ(loop->turn_times(), first);
}

// Counts by the time of the turn. Its list has what turn_ended() got.
class TestTally : public TurnTally {
 public:
  TestTally() { buckets_ = counts.data(); }
  void count() {
    ++count_;
    due_ = {};
  }
  // Returns how many things were counted in turns that took `time`.
  uint64_t counted(Duration time) const { return counts[layout.index_of(time.count())]; }

  Histogram layout{TurnTimes::kOptions};
  std::vector<uint64_t> counts = std::vector<uint64_t>(layout.counts().size());
  std::vector<TimePoint> ended;

 private:
  void turn_ended(size_t, TimePoint now) noexcept override {
    ended.push_back(now);
    due_ = kNever;
  }
};

TEST_F(TurnTimesTest, tallies_count_by_the_time_since_the_wait) {
  make();
  const auto one = std::make_shared<TestTally>();
  const auto other = std::make_shared<TestTally>();
  loop->add_turn_tally(one);
  loop->add_turn_tally(other);
  const auto count = [&](TestTally& tally, int times, Duration busy) {
    return [&, times, busy] {
      for (int i = 0; i < times; ++i) tally.count();
      world->now += busy;
    };
  };
  world->plan(milliseconds(10), count(*one, 2, milliseconds(3)));
  world->plan(milliseconds(20), count(*other, 1, milliseconds(5)));
  world->plan(milliseconds(30), [&] { loop->remove_turn_tally(*one); });
  world->plan(milliseconds(40), count(*other, 1, milliseconds(70'000)));
  stop_after(seconds(80));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(one->counted(milliseconds(3)), 2u);
  EXPECT_EQ(other->counted(milliseconds(5)), 1u);
  EXPECT_EQ(other->counted(seconds(70)), 1u);
  EXPECT_EQ(one->ended.size(), 2u) << "at the end of the first turn, and of the turn that counted";
}

TEST_F(TurnTimesTest, tally_does_not_count_what_the_engine_did_before_its_wait) {
  make();
  const auto tally = std::make_shared<TestTally>();
  loop->add_turn_tally(tally);
  world->plan(milliseconds(10), [&] {
    loop->engine().before_wait([this] {
      world->now += milliseconds(50);
      return false;
    });
  });
  world->plan(milliseconds(100), [&] {
    tally->count();
    world->now += milliseconds(2);
  });
  stop_after(milliseconds(200));
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(tally->counted(milliseconds(2)), 1u);
}

TEST_F(TurnTimesTest, last_turn_and_single_steps_are_counted_when_they_end) {
  make();
  const auto tally = std::make_shared<TestTally>();
  loop->add_turn_tally(tally);
  ASSERT_TRUE(loop->begin());
  world->plan(milliseconds(10), [&] {
    tally->count();
    world->now += milliseconds(3);
  });
  loop->step();
  EXPECT_EQ(tally->counted(milliseconds(3)), 1u);
  world->now += milliseconds(500);  // between two steps
  loop->post([&] {
    tally->count();
    world->now += milliseconds(6);
  });
  loop->end();
  EXPECT_EQ(std::accumulate(tally->counts.begin(), tally->counts.end(), uint64_t{0}), 2u);
}

class TurnTimesEngineTest : public test::LoopEngineTest {};

// The measurement begins while the loop runs, so the engine is open already.
TEST_P(TurnTimesEngineTest, real_turns_are_counted_and_cover_the_time) {
  test::LoopThread thread(options());
  Loop& loop = thread.loop();
  std::atomic<int> left = 5;
  loop.post([&] {
    loop.measure_turns();
    loop.every(milliseconds(1), [&] {
      if (--left == 0) loop.stop();
    });
  });
  while (left.load() > 0) std::this_thread::yield();
  thread.finish();
  EXPECT_GE(loop.turn_times()->turns().total_count(), 4u);
  EXPECT_GE(loop.turn_times()->waiting() + loop.turn_times()->busy(), milliseconds(3));
  EXPECT_GT(loop.turn_times()->waiting(), Duration::zero());
}

PEAL_TEST_ON_EVERY_ENGINE(TurnTimesEngineTest);

}  // namespace
}  // namespace peal
