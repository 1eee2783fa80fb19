// SPDX-License-Identifier: BSD-3-Clause
// TaskTest: a fixture with a loop. A test is one coroutine (task). The loop runs the task, and everything that it
// awaits, to the end.
#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <peal/base/clock.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <tests/support/loop_thread.h>

namespace peal::test {

class TaskTest : public LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    loop_ = make_loop(options()).value();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    loop_.reset();
    expect_no_fd_left();
  }
  Loop& loop() { return *loop_; }
  // Runs the loop until `task` has ended.
  void run(Task<> task) {
    Scope scope(loop());
    scope.spawn(stop_after(std::move(task)));
    ASSERT_TRUE(loop().run());
  }
  // Calls the lambda `body`, which is a coroutine, and runs its task to the end. The lambda exists until then, so the
  // coroutine can use the lambda's captures.
  void run(const std::invocable auto& body) { run(body()); }
  // Starts `task`. Stops the loop while the task waits for something, so that this wait fails with
  // Trouble::kLoopStopped. Then destroys the loop.
  void run_into_the_end(Task<> task) {
    {
      Scope scope(loop());
      scope.spawn(std::move(task));
      loop().post([this] { loop().stop(); });
      ASSERT_TRUE(loop().run());
    }
    loop_.reset();
  }
  void run_into_the_end(const std::invocable auto& body) { run_into_the_end(body()); }
  // Waits until `done` returns true. Throws an exception after one minute, and the exception fails the test.
  static Task<> until(std::function<bool()> done) {
    const TimePoint give_up = monotonic_now() + std::chrono::minutes(1);
    while (!done()) {
      if (monotonic_now() >= give_up) throw std::runtime_error("the condition did not become true within a minute");
      co_await sleep(std::chrono::milliseconds(1));
    }
  }
  // Waits for three turns of the loop. In these turns, the loop runs all coroutines that are ready and all posted
  // tasks. The tasks that those posted tasks post also run. One turn would not be enough, because sleep()
  // ends before the posted tasks of its turn run (loop.h).
  static Task<> settle() {
    for (int turn = 0; turn < 3; ++turn) co_await sleep({});
  }
  Task<> note(std::string text, Duration delay = {}) {
    co_await sleep(delay);
    notes.push_back(text);
  }

  std::vector<std::string> notes;

 private:
  Task<> stop_after(Task<> task) {
    try {
      co_await std::move(task);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "the task ended with an exception: " << error.what();
    }
    loop().stop();
  }

  std::unique_ptr<Loop> loop_;
};

}  // namespace peal::test
