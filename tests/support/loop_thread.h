// SPDX-License-Identifier: BSD-3-Clause
// For tests that run loops on real engines: a loop on a thread of its own, and suites that run on every engine.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <peal/loop/loop.h>
#include <tests/support/engine_rig.h>
#include <tests/support/raw_peer.h>
#include <tests/support/sealed/sealed_exclusions.h>
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

// While it lives the loop stands still, and its mailbox can be filled.
class Standstill {
 public:
  explicit Standstill(Loop& loop) {
    std::promise<void> entered;
    std::future<void> is_entered = entered.get_future();
    EXPECT_TRUE(loop.post([entered = std::move(entered), left = leave_.get_future()]() mutable {
      entered.set_value();
      left.wait();
    }));
    is_entered.wait();
  }
  ~Standstill() { leave_.set_value(); }
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

 private:
  std::promise<void> leave_;
};

inline void fill_mailbox(Loop& loop) {
  while (loop.post([] {})) {
  }
}

// The parameter is an engine's name; one that this machine forbids is skipped, with the reason.
class LoopEngineTest : public testing::TestWithParam<std::string_view> {
 protected:
  ~LoopEngineTest() override {
    RawPeer::seal_all(false);
    RawPeer::over_tls_all(false);
  }
  void SetUp() override {
    if (const std::string why = why_not_tested(GetParam()); !why.empty()) GTEST_SKIP() << why;
    RawPeer::seal_all(is_sealed(GetParam()));
    RawPeer::over_tls_all(is_over_tls(GetParam()));
    fds_before_ = count_open_fds();
  }
  // For a TearDown(), when the loop is gone.
  void expect_no_fd_left() const {
    RawPeer::seal_all(false);
    RawPeer::over_tls_all(false);
    EXPECT_EQ(count_open_fds(), fds_before_) << "fds were left behind; now there are" << open_fds();
  }
  LoopOptions options() const { return LoopOptions{.engine = std::string(GetParam())}; }

 private:
  size_t fds_before_ = 0;
};

}  // namespace peal::test

#define PEAL_TEST_ON(instance, Suite, names)                          \
  INSTANTIATE_TEST_SUITE_P(instance, Suite, testing::ValuesIn(names), \
                           [](const auto& tested) { return std::string(tested.param); })
#define PEAL_TEST_ON_EVERY_ENGINE(Suite) PEAL_TEST_ON(engine, Suite, ::peal::test::kernel_engines())
// The simulator too: for suites that need nothing but the loop.
#define PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(Suite) PEAL_TEST_ON(engine, Suite, ::peal::test::every_engine())
// The same, and below a layer (sealed_port.h, tls_layers.h): for suites whose streams end in streams of peal's, or in a
// RawPeer.
#define PEAL_TEST_ON_EVERY_PORT(Suite)                                               \
  PEAL_TEST_ON_EVERY_ENGINE(Suite);                                                  \
  PEAL_TEST_ON(sealed, Suite, ::peal::test::sealed(::peal::test::kernel_engines())); \
  PEAL_TEST_ON(tls, Suite, ::peal::test::over_tls(::peal::test::kernel_engines()))
#define PEAL_TEST_ON_EVERY_PORT_AND_SIM(Suite)                                     \
  PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(Suite);                                        \
  PEAL_TEST_ON(sealed, Suite, ::peal::test::sealed(::peal::test::every_engine())); \
  PEAL_TEST_ON(tls, Suite, ::peal::test::over_tls(::peal::test::every_engine()))
