// SPDX-License-Identifier: BSD-3-Clause
// Tests of loops of one thread that tell and ask each other's objects and start timers on each other. Nothing waits for
// another thread, and the time is that of the simulator.
#include <vector>

#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/share/loop_object.h>
#include <peal/share/remote_task.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::seconds;

using OnLoopSimTest = test::SimTest;

TEST_F(OnLoopSimTest, two_loops_ask_each_others_objects) {
  on_seeds(20, rough(), [](test::SimPair& pair) {
    const OnLoop<int> here(*pair.here);
    const OnLoop<int> there(*pair.there);
    int answered = 0;
    auto asks = [&](Loop& own) -> Task<> {
      for (int i = 1; i <= 50; ++i) {
        for (const OnLoop<int>* object : {&here, &there}) {
          EXPECT_TRUE(object->tell([](int& number) { ++number; }));
          const Result<int> number = co_await object->ask([](int& there) { return ++there; }).within(seconds(1));
          EXPECT_TRUE(own.in_loop() && number.value() > i);
          ++answered;
        }
      }
    };
    Scope one(*pair.here);
    Scope other(*pair.there);
    one.spawn(asks(*pair.here));
    other.spawn(asks(*pair.there));
    EXPECT_TRUE(pair.run_until([&] { return one.size() + other.size() == 0; }));
    EXPECT_EQ(answered, 200);
  });
}

TEST_F(OnLoopSimTest, the_worlds_time_counts_for_remote_timers) {
  on_seeds(5, rough(), [](test::SimPair& pair) {
    std::vector<Duration> fired;
    const TimePoint begin = pair.world.now();
    const RemoteTask ticks = every_on(*pair.here, seconds(10), [&] { fired.push_back(pair.world.now() - begin); });
    const RemoteTask never = after_on(*pair.there, seconds(15), [] { ADD_FAILURE() << "it was cancelled"; });
    RemoteTask cancels = after_on(*pair.there, seconds(12), [&] {
      EXPECT_TRUE(never.cancel());
      EXPECT_FALSE(cancels.cancel());
    });
    pair.run_for(seconds(25));
    EXPECT_EQ(fired, (std::vector<Duration>{seconds(10), seconds(20)}));
    EXPECT_TRUE(ticks.cancel());
    EXPECT_TRUE(pair.world.run_until_idle());
  });
}

}  // namespace
}  // namespace peal
