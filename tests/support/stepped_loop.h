// SPDX-License-Identifier: BSD-3-Clause
// SteppedLoopTest: a loop that the test turns on its own thread, on every engine, the simulator too.
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
  // Called when what lives on the loop is gone.
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
  // Turns the loop until `done`; fails after so much of its clock.
  testing::AssertionResult run_until(const std::function<bool()>& done, Duration patience = std::chrono::seconds(10)) {
    bool gave_up = false;
    const TimerId timer = loop().after(patience, [&] { gave_up = true; });
    while (!done() && !gave_up) loop().step();
    loop().cancel(timer);
    return done() ? testing::AssertionSuccess() : testing::AssertionFailure() << "waited in vain";
  }
  void run_for(Duration time) {
    bool over = false;
    loop().after(time, [&] { over = true; });
    while (!over) loop().step();
  }
  // So much that whatever is on its way has come: twenty milliseconds, and as many turns. On a busy machine all of the
  // time may be over in the first one.
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
