// SPDX-License-Identifier: BSD-3-Clause
// A thread calls stop(); the loop, which is awake, sees it at once, run() returns and its thread destroys the loop,
// while stop() still has to find the mailbox in it, to wake who does not sleep. A posted task that ends the loop does
// the same to post(). The thread sanitizer sees the race every time, the others sometimes.
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include <tests/support/loop_thread.h>

namespace peal {
namespace {

class LoopDestroyedByItsStop : public test::LoopEngineTest {
 protected:
  // Several times: `end`, on this thread, ends a loop that never sleeps and dies as soon as run() returns.
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
