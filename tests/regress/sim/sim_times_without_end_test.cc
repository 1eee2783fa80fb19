// SPDX-License-Identifier: BSD-3-Clause
// Duration::max() means "never" in the simulator too (times_without_end_test.cc tests the servers). The sums of it and
// the world's time overflowed:
// - A run without a limit was over before its first step.
// - A task that was never to be called was called at once.
// - A client that was never to give up connecting was told ETIMEDOUT.
//
// A second defect: a clock that was set ahead by Duration::min() passed the check of its limits.
#include <stdexcept>

#include <gtest/gtest.h>

#include <peal/sim/sim_machine.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Duration kEver = Duration::max();

class SimTimesWithoutEnd : public test::SimTest {};

TEST_F(SimTimesWithoutEnd, of_runs) {
  on_seeds(1, {}, [](test::SimPair& pair) {
    const TimePoint begin = pair.world.now();
    int fired = 0;
    pair.here->after(seconds(5), [&] { ++fired; });
    EXPECT_TRUE(pair.world.run_until([&] { return fired == 1; }, kEver));
    EXPECT_FALSE(pair.world.run_until([&] { return fired == 2; }, kEver)) << "nothing is left to happen";
    pair.here->after(seconds(5), [&] { ++fired; });
    EXPECT_TRUE(pair.world.run_until_idle(kEver));
    pair.here->after(seconds(5), [&] { ++fired; });
    pair.world.run_for(kEver);
    EXPECT_EQ(fired, 3);
    EXPECT_EQ(pair.world.now(), begin + seconds(15));
    pair.world.run_for(Duration::min());
    EXPECT_FALSE(pair.world.run_until([] { return false; }, Duration::min()));
    EXPECT_EQ(pair.world.now(), begin + seconds(15)) << "time does not go backwards";
  });
}

TEST_F(SimTimesWithoutEnd, of_tasks) {
  on_seeds(1, {}, [](test::SimPair& pair) {
    bool called = false;
    pair.world.after(kEver, [&] { called = true; });
    pair.run_for(hours(1'000));
    EXPECT_TRUE(pair.world.run_until_idle(kEver));
    EXPECT_FALSE(called);
  });
}

TEST_F(SimTimesWithoutEnd, of_a_connect_that_nobody_answers) {
  on_seeds(3, {}, [](test::SimPair& pair) {
    pair.world.options().connect_give_up = kEver;
    for (const double swallow : {0.0, 1.0}) {
      pair.world.options().swallow = swallow;
      bool over = false;
      Client client(*pair.there, {}, {.connect_timeout = kEver, .retry = {.attempts = 1}},
                    [&](std::error_code, Duration) { over = true; });
      Server server(*pair.here, {});
      const SocketAddress address = pair.listen(server);
      if (swallow == 0) pair.world.cut("127.0.0.1", "127.0.0.1");
      ASSERT_TRUE(client.connect(address));
      pair.run_for(hours(1'000));
      EXPECT_FALSE(over);
      pair.world.heal();
    }
  });
}

TEST_F(SimTimesWithoutEnd, of_bytes_that_nobody_acknowledges) {
  on_seeds(3, {}, [](test::SimPair& pair) {
    pair.world.options().give_up = kEver;
    std::string heard;
    Server server(*pair.here, {.on_message = test::hearing(heard)});
    ConnectionHandle handle;
    Client client(*pair.there, {.on_open = [&](Connection& connection) { handle = connection.handle(); }});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    ASSERT_TRUE(pair.run_until([&] { return static_cast<bool>(handle); }));
    pair.world.cut("127.0.0.1", "127.0.0.1");
    handle.send("late");
    pair.run_for(hours(100));
    EXPECT_EQ(heard, "");
    pair.world.heal();
    EXPECT_TRUE(pair.run_until([&] { return heard == "late"; }));
  });
}

TEST_F(SimTimesWithoutEnd, of_the_latency_of_a_network) {
  on_seeds(3, {}, [](test::SimPair& pair) {
    Server server(*pair.here, {});
    const SocketAddress address = pair.listen(server);
    pair.world.options().latency = pair.world.options().jitter = kEver;
    bool opened = false;
    Client client(*pair.there, {.on_open = [&](Connection&) { opened = true; }});
    ASSERT_TRUE(client.connect(address));
    pair.run_for(hours(1'000));
    EXPECT_FALSE(opened);
  });
}

TEST_F(SimTimesWithoutEnd, of_clocks) {
  on_seeds(1, {}, [](test::SimPair& pair) {
    SimMachine machine(pair.world, "10.0.0.1");
    for (const Duration ahead :
         {Duration::min(), kEver, Duration(hours(24) * 365 * 6), Duration(-hours(24) * 365 * 6)}) {
      EXPECT_THROW(machine.set_clock({.ahead = ahead}), std::invalid_argument) << ahead.count();
    }
    machine.set_clock({.rate = 1'000});
    pair.world.run_for(hours(24) * 365 * 99);
    EXPECT_GT(machine.now(), pair.world.now()) << "the clock stops at the end of its range";
  });
}

}  // namespace
}  // namespace peal
