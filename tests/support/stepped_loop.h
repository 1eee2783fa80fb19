// SPDX-License-Identifier: BSD-3-Clause
// SteppedLoopTest: a fixture with a loop that has no thread of its own. The test runs each iteration (turn) of the loop
// by step(). Suites run on every engine and the simulator.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/base/memory/memory_budget.h>
#include <tests/support/loop_thread.h>

namespace peal::test {

class SteppedLoopTest : public LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (IsSkipped()) return;
    set_log_sink([](const LogRecord&) {});
    loop_ = make_loop(options()).value();
    EXPECT_TRUE(loop_->begin());
  }
  // Everything that uses the loop must be destroyed before this call.
  void TearDown() override {
    if (IsSkipped()) return;
    if (loop_) end_loop();
    loop_.reset();
    set_log_sink({});
    MemoryBudget::set(MemoryBudget::default_marks());
    expect_no_fd_left();
  }

  Loop& loop() { return *loop_; }
  void end_loop() { loop_->end(); }
  // Runs the loop until `done` returns true. Fails when `patience` has passed on the loop's clock.
  testing::AssertionResult run_until(const std::function<bool()>& done, Duration patience = std::chrono::seconds(10)) {
    bool gave_up = false;
    const TimerId timer = loop().after(patience, [&] { gave_up = true; });
    while (!done() && !gave_up) loop().step();
    loop().cancel(timer);
    return done() ? testing::AssertionSuccess() : testing::AssertionFailure() << "the wait timed out";
  }
  void run_for(Duration time) {
    bool over = false;
    loop().after(time, [&] { over = true; });
    while (!over) loop().step();
  }
  // Runs the loop until a timer of 1 ms has fired 20 times. These iterations are enough for data in transit to arrive.
  // A wait of 20 ms would not be enough: on a busy machine, that time may pass in one iteration of the loop.
  void settle() {
    int turns = 0;
    const TimerId timer = loop().every(std::chrono::milliseconds(1), [&] { ++turns; });
    while (turns < 20) loop().step();
    loop().cancel(timer);
  }

 private:
  std::unique_ptr<Loop> loop_;
};

}  // namespace peal::test
