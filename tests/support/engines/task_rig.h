// SPDX-License-Identifier: BSD-3-Clause
// TaskTest: a loop that runs one task, and whatever that awaits, to its end.
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
  // The same of a coroutine lambda, which lives as long as its task.
  void run(const std::invocable auto& body) { run(body()); }
  // The same, of a loop that begins to end once the task waits: what it then awaits fails with Trouble::kLoopStopped.
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
  // Waits until `done()` answers true, for a minute at most: what waits in vain fails its test by its name.
  static Task<> until(std::function<bool()> done) {
    const TimePoint give_up = monotonic_now() + std::chrono::minutes(1);
    while (!done()) {
      if (monotonic_now() >= give_up) throw std::runtime_error("waited in vain");
      co_await sleep(std::chrono::milliseconds(1));
    }
  }
  // Everything that is ready has run when it is over.
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
