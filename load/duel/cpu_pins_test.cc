// SPDX-License-Identifier: BSD-3-Clause
#include <load/duel/cpu_pins.h>

#include <sched.h>

#include <thread>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

std::vector<int> my_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

TEST(CpuPins, servers_and_generator_have_cpus_of_their_own) {
  const std::vector<int> all = my_cpus();
  if (all.size() < 2) GTEST_SKIP() << "needs two CPUs, and this process may use only one";
  const CpuPins pins = CpuPins::of(all.size() - 1, 1);
  EXPECT_EQ(pins.server, std::vector<int>(all.begin(), all.end() - 1));
  EXPECT_EQ(pins.client, std::vector<int>{all.back()});
  EXPECT_EQ(CpuPins::of(1, 1).client, std::vector<int>{all[1]});
}

TEST(CpuPins, with_too_few_cpus_nothing_is_pinned) {
  const CpuPins pins = CpuPins::of(my_cpus().size(), 1);
  EXPECT_TRUE(pins.server.empty());
  EXPECT_TRUE(pins.client.empty());
}

TEST(CpuPins, a_pinned_thread_stays_on_its_cpus_until_the_pin_ends) {
  // The test pins a thread of its own, so that the test program's thread keeps its CPUs even after a failure.
  std::jthread([] {
    const std::vector<int> before = my_cpus();
    {
      const PinnedHere pinned({before.back()});
      EXPECT_EQ(my_cpus(), std::vector<int>{before.back()});
      std::jthread([&before] {
        EXPECT_EQ(my_cpus(), std::vector<int>{before.back()}) << "a thread that it starts is pinned, too";
      });
      EXPECT_TRUE(CpuPins::of(1, 1).server.empty()) << "only one CPU is usable now";
    }
    EXPECT_EQ(my_cpus(), before);
    {
      const PinnedHere nowhere({});
      EXPECT_EQ(my_cpus(), before);
    }
    EXPECT_EQ(my_cpus(), before);
  });
}

TEST(CpuPins, pinning_to_a_missing_cpu_changes_nothing) {
  std::jthread([] {
    const std::vector<int> before = my_cpus();
    const PinnedHere pinned({CPU_SETSIZE - 1});
    EXPECT_EQ(my_cpus(), before);
  });
}

}  // namespace
}  // namespace peal::load
