// SPDX-License-Identifier: BSD-3-Clause
// A handler of a server takes a task to a loop of the same group by run_on(), and that is the loop it runs on itself.
// The group is stopped. The end of the connection cancels the handler while the loop ends. The loop then refused posts,
// so run_on() waited until the loop's thread had left it, on that very thread, and the loop never ended. Now the task
// is cancelled there and then.
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
        loop->post([&] { scope.cancel(); });  // called while the loop ends
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
