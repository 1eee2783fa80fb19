// SPDX-License-Identifier: BSD-3-Clause
// A thread called stop() on a loop that was awake. The loop saw it at once, run() returned, and the loop's thread
// destroyed the loop. Meanwhile stop() still looked for the mailbox in the loop to wake it, and used freed memory.
// post() had the same race if the posted task ended the loop. The thread sanitizer sees the race every time, the other
// sanitizers only sometimes.
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include <tests/support/loop_thread.h>

namespace peal {
namespace {

class LoopDestroyedByItsStop : public test::LoopEngineTest {
 protected:
  // Calls `end` on this thread, 50 times, each time with a loop that never sleeps and is destroyed as soon as run()
  // returns.
  void play(const std::function<void(Loop&)>& end) {
    for (int round = 0; round < 50; ++round) {
      auto owned = test::make_loop(options()).value();
      Loop& loop = *owned;
      std::move_only_function<void()> stay_awake = [&] { loop.post([&] { stay_awake(); }); };
      loop.post([&] { stay_awake(); });
      const std::jthread runner([&] {
        EXPECT_TRUE(owned->run());
        owned.reset();
      });
      end(loop);
    }
  }
};
PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(LoopDestroyedByItsStop);

TEST_P(LoopDestroyedByItsStop, stopped_by_another_thread) {
  play([](Loop& loop) { loop.stop(); });
}

TEST_P(LoopDestroyedByItsStop, stopped_by_a_task_of_another_thread) {
  play([](Loop& loop) { loop.post([&loop] { loop.stop(); }); });
}

}  // namespace
}  // namespace peal
