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
  if (all.size() < 2) GTEST_SKIP() << "this process may use one CPU alone";
  const CpuPins pins = CpuPins::of(all.size() - 1, 1);
  EXPECT_EQ(pins.server, std::vector<int>(all.begin(), all.end() - 1));
  EXPECT_EQ(pins.client, std::vector<int>{all.back()});
  EXPECT_EQ(CpuPins::of(1, 1).client, std::vector<int>{all[1]});
}

TEST(CpuPins, too_few_cpus_pin_nobody) {
  const CpuPins pins = CpuPins::of(my_cpus().size(), 1);
  EXPECT_TRUE(pins.server.empty());
  EXPECT_TRUE(pins.client.empty());
}

TEST(CpuPins, a_thread_stays_where_it_is_told_and_goes_back) {
  // In a thread of its own: whatever happens, the test's stays as it is.
  std::jthread([] {
    const std::vector<int> before = my_cpus();
    {
      const PinnedHere pinned({before.back()});
      EXPECT_EQ(my_cpus(), std::vector<int>{before.back()});
      std::jthread([&before] { EXPECT_EQ(my_cpus(), std::vector<int>{before.back()}) << "what it starts, too"; });
      EXPECT_TRUE(CpuPins::of(1, 1).server.empty()) << "there is one now";
    }
    EXPECT_EQ(my_cpus(), before);
    {
      const PinnedHere nowhere({});
      EXPECT_EQ(my_cpus(), before);
    }
    EXPECT_EQ(my_cpus(), before);
  });
}

TEST(CpuPins, a_cpu_that_is_not_there_changes_nothing) {
  std::jthread([] {
    const std::vector<int> before = my_cpus();
    const PinnedHere pinned({CPU_SETSIZE - 1});
    EXPECT_EQ(my_cpus(), before);
  });
}

}  // namespace
}  // namespace peal::load
