// SPDX-License-Identifier: BSD-3-Clause
// Tests the runs and the report of simulate(). tests/integration/sim_shrink_test.cc tests the search for the faults.
#include <peal/sim/simulate.h>

#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <peal/sim/sim_loop.h>

namespace peal {
namespace {

using std::chrono::seconds;

TEST(Simulate, body_that_passes_runs_once) {
  int runs = 0;
  const SimReport report = simulate(5, [&runs](SimWorld& world) { return ++runs == 1 && world.seed() == 5; });
  EXPECT_TRUE(report);
  EXPECT_EQ(report.runs, 1u);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(report.text(), "seed 5: no failure\n");
}

TEST(Simulate, many_seeds_are_played_until_one_fails) {
  const SimReport report = simulate_seeds(3, 10, [](SimWorld& world) { return world.seed() < 7; });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.seed, 7u);
  EXPECT_EQ(report.seeds, 5u);
  EXPECT_EQ(report.why, "the body answered false");
  EXPECT_NE(report.text().find("simulate(7, ...)"), std::string::npos);
  const SimReport all = simulate_seeds(3, 4, [](SimWorld& world) { return world.seed() < 7; });
  EXPECT_TRUE(all);
  EXPECT_EQ(all.text(), "seeds 3 to 6: no failure\n");
}

TEST(Simulate, failure_without_any_fault_is_said_to_be_one) {
  const SimReport report = simulate(3, [](SimWorld& world) {
    for (int i = 0; i < 50; ++i) (void)world.make_engine()->bind(SocketAddress::parse("10.0.0.1:0").value(), {});
    throw std::runtime_error("the test's own mistake");
  });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.why, "it threw: the test's own mistake");
  EXPECT_GT(report.struck, 0u);
  EXPECT_TRUE(report.faults.empty());
  EXPECT_EQ(report.runs, 2u);
  EXPECT_NE(report.text().find("without any fault; "), std::string::npos);
  const SimReport calm = simulate(3, SimOptions{}, [](SimWorld& world) { world.fail("always"); });
  EXPECT_EQ(calm.runs, 1u);
  EXPECT_NE(calm.text().find("without any fault; 0 had struck"), std::string::npos);
}

TEST(Simulate, world_that_failed_goes_no_further) {
  SimWorld world(1);
  SimLoop loop(world);
  loop->after(seconds(1), [&] { world.expect(false, "first"); });
  loop->after(seconds(2), [&] { world.fail("second"); });
  const TimePoint begin = world.now();
  world.run_for(seconds(10));
  EXPECT_LT(world.now() - begin, seconds(2));
  EXPECT_FALSE(world.run_until([] { return true; }));
  EXPECT_EQ(world.failure(), "first");
}

}  // namespace
}  // namespace peal
