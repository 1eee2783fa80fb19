// SPDX-License-Identifier: BSD-3-Clause
// A handler of a server moved a task to a loop of its group by run_on(), and this was the loop that the handler ran on.
// The group was stopped, and the end of the connection cancelled the handler while the loop was ending. The loop
// refused posts by then. So run_on() waited, on the loop's own thread, until this thread had left the loop, and the
// loop never ended. Now the task is cancelled directly.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/run_on.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

using testing::ElementsAre;

class RunOnOwnLoopAtItsEnd : public test::LoopEngineTest {};
PEAL_TEST_ON_EVERY_ENGINE(RunOnOwnLoopAtItsEnd);

TEST_P(RunOnOwnLoopAtItsEnd, task_is_cancelled_while_its_loop_ends) {
  const std::unique_ptr<Loop> loop = test::make_loop(options()).value();
  std::vector<std::string> notes;
  {
    Scope scope(*loop);
    const auto waits = [&]() -> Task<> {
      loop->post([&] {
        loop->stop();
        loop->post([&] { scope.cancel(); });  // runs while the loop is ending
      });
      const Result<void> slept = co_await sleep(std::chrono::hours(1));
      notes.push_back(slept.error().message());
    };
    const auto goes = [&]() -> Task<> {
      const Result<void> back = co_await run_on(*loop, waits());
      notes.emplace_back(back ? "it is back" : back.error().message());
    };
    scope.spawn(goes());
    ASSERT_TRUE(loop->run());
    EXPECT_THAT(notes, ElementsAre("the loop has stopped", "it is back"));
  }
}

}  // namespace
}  // namespace peal
