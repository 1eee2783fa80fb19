// SPDX-License-Identifier: BSD-3-Clause
// SimTest: runs a test on many seeds. Each seed has a simulated network (SimWorld) of its own, with one loop for
// servers and one for clients. All of them run on the test's thread. The first seed that fails ends the test and is
// printed. PEAL_SIM_SEED=N runs seed N alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/base/memory/block_pool.h>
#include <peal/base/memory/memory_budget.h>
#include <peal/net/client.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_world.h>
#include <tests/support/engines/hearing.h>
#include <tests/support/sim_faults.h>

namespace peal::test {

struct SimPair {
  SimPair(uint64_t its_seed, const SimOptions& options) : seed(its_seed), world(its_seed, options) {}

  // Makes the server listen. During this call, the simulator does not inject the fault EMFILE (no fd is left), because
  // no test can go on without its server.
  template <class Listening>
  SocketAddress listen(Listening& server, std::string_view address = "127.0.0.1:0") {
    const double no_fd = std::exchange(world.options().no_fd, 0);
    const Result<SocketAddress> bound = server.listen(address);
    world.options().no_fd = no_fd;
    EXPECT_TRUE(bound);
    return bound.value_or(SocketAddress());
  }
  bool run_until(const std::function<bool()>& done, Duration limit = std::chrono::minutes(30)) {
    return world.run_until(done, limit);
  }
  void run_for(Duration time) { world.run_for(time); }

  const uint64_t seed;
  SimWorld world;
  SimLoop here{world};   // for servers
  SimLoop there{world};  // for clients
};

class SimTest : public testing::Test {
 protected:
  // Returns the options of a network with delays, interruptions and short transfers, but without any fault that loses
  // bytes.
  static SimOptions rough() { return lossless_faults(); }
  void SetUp() override {
    set_log_sink([](const LogRecord&) {});
  }
  void TearDown() override {
    set_log_sink({});
    MemoryBudget::set(MemoryBudget::default_marks());
  }

  // Calls `play` once for each seed from 1 to `count`, each time with a new simulated network. If PEAL_SIM_SEED is set,
  // plays only that seed. Stops after the first seed that fails. After each seed, checks that as many memory blocks of
  // the BlockPool are in use as before.
  void on_seeds(uint64_t count, const SimOptions& options, const std::function<void(SimPair&)>& play) {
    const char* only = std::getenv("PEAL_SIM_SEED");
    const uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
    const uint64_t last = only != nullptr ? first : count;
    for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
      SCOPED_TRACE("to replay it alone: PEAL_SIM_SEED=" + std::to_string(seed));
      const uint64_t blocks = BlockPool::here().stats().blocks_in_use;
      {
        SimPair pair(seed, options);
        play(pair);
        if (HasFailure()) ADD_FAILURE() << pair.world.trace_tail();
      }
      EXPECT_EQ(BlockPool::here().stats().blocks_in_use, blocks);
    }
  }
  // True if the test runs with all seeds. If PEAL_SIM_SEED selects one seed, a test must not check totals over all
  // seeds.
  static bool all_seeds() { return std::getenv("PEAL_SIM_SEED") == nullptr; }
};

}  // namespace peal::test
