// SPDX-License-Identifier: BSD-3-Clause
// For tests that run loops on real engines: a loop on a thread of its own, and suites that run on every engine.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <peal/loop/loop.h>
#include <tests/support/tested_engines.h>

namespace peal::test {

// Runs until finish() or its own end. post_limit and the like come from `options`.
class LoopThread {
 public:
  explicit LoopThread(const LoopOptions& options) : loop_(make_loop(options).value()) {
    thread_ = std::jthread([this] { EXPECT_TRUE(loop_->run()); });
  }
  ~LoopThread() { finish(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  Loop& loop() { return *loop_; }
  // Stops and joins.
  void finish() {
    loop_->stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::unique_ptr<Loop> loop_;
  std::jthread thread_;
};

// The parameter is an engine's name; one that this machine forbids is skipped, with the reason.
class LoopEngineTest : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (const std::string why = why_unsupported(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  LoopOptions options() const { return LoopOptions{.engine = std::string(GetParam())}; }
};

}  // namespace peal::test

#define PEAL_TEST_ON_EVERY_ENGINE(Suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(engine, Suite, testing::ValuesIn(::peal::test::kernel_engines()), \
                           [](const auto& tested) { return std::string(tested.param); })
// The simulator too: for suites that need nothing but the loop.
#define PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(Suite)                                           \
  INSTANTIATE_TEST_SUITE_P(engine, Suite, testing::ValuesIn(::peal::test::every_engine()), \
                           [](const auto& tested) { return std::string(tested.param); })
