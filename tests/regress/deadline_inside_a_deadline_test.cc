// SPDX-License-Identifier: BSD-3-Clause
// A loop ended and destroyed the closures of its timers. One closure was the deadline of a task that slept until
// another timer. Destroying this closure cancelled the task, and the frame of its sleep was destroyed. But while the
// loop was dropping its timers, cancel() had no effect. So the closure of the sleep's timer was destroyed after the
// frame, and used it. The address sanitizer reported this use. cancel() also returned false for a timer whose closure
// still existed.
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <peal/base/memory/when_released.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <tests/support/engines/task_rig.h>

namespace peal {
namespace {

using std::chrono::hours;

class DeadlineInsideADeadline : public test::TaskTest {
 protected:
  static Task<int> sleep_long(std::error_code& error) {
    const Result<void> slept = co_await sleep(hours(1));
    error = slept ? std::error_code{} : slept.error();
    co_return 1;
  }
};
PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(DeadlineInsideADeadline);

TEST_P(DeadlineInsideADeadline, ends_with_the_loop) {
  std::optional<Scope> scope(loop());
  std::error_code error;
  int answers = 0;
  const auto task = [&]() -> Task<> {
    answers += co_await sleep_long(error).within(hours(2));
    answers += co_await sleep_long(error).within(hours(2));
  };
  for (int i = 0; i < 3; ++i) scope->spawn(task());
  loop().post([&] { loop().stop(); });
  ASSERT_TRUE(loop().run());
  scope.reset();
  EXPECT_EQ(answers, 6);
  EXPECT_EQ(error, Trouble::kLoopStopped);
}

TEST_P(DeadlineInsideADeadline, closure_destroyed_with_the_loop_can_cancel_another_timer) {
  TimerId others[2];
  int cancelled = 0;
  std::shared_ptr<void> cancels = run_when_released([&] {
    for (const TimerId other : others) cancelled += loop().cancel(other) ? 1 : 0;
  });
  others[0] = loop().after(hours(1), [] {});
  loop().after(hours(1), [kept = std::move(cancels)] {});
  others[1] = loop().after(hours(1), [] {});
  loop().post([&] { loop().stop(); });
  ASSERT_TRUE(loop().run());
  // The loop had dropped one of the two other timers before this closure was destroyed, so only one is cancelled.
  EXPECT_EQ(cancelled, 1);
}

}  // namespace
}  // namespace peal
