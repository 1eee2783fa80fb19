// SPDX-License-Identifier: BSD-3-Clause
// LoopThread: a loop on a thread of its own. LoopEngineTest: a fixture for suites that run on real engines.
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

// Runs a loop on a thread of its own. The thread ends at finish(), or when the loop ends by itself.
class LoopThread {
 public:
  explicit LoopThread(const LoopOptions& options) : loop_(make_loop(options).value()) {
    thread_ = std::jthread([this] { EXPECT_TRUE(loop_->run()); });
  }
  ~LoopThread() { finish(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  Loop& loop() { return *loop_; }
  // Stops the loop and joins its thread.
  void finish() {
    loop_->stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::unique_ptr<Loop> loop_;
  std::jthread thread_;
};

// Blocks the loop's thread while the object exists. The loop runs no posted tasks then, so a test can fill its mailbox.
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

// A fixture whose parameter is the name of an engine. Skips the test and prints the reason if this machine does not
// support the engine. Skips the test, too, if the engine has a layer above it and sealed_exclusions.cc lists the test.
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
  // Checks that the test has left no fd open. Call this function in TearDown(), after the loop was destroyed. Before
  // the check, closes the sockets of TLS peers that still have unsent bytes. Peers made after the call use no layer.
  void expect_no_fd_left() const {
    RawPeer::seal_all(false);
    RawPeer::over_tls_all(false);
    EXPECT_EQ(count_open_fds(), fds_before_) << "the test left fds behind; open are now" << open_fds();
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
// Runs a suite on every engine and on the simulator. In these tests, a loop must not wait for an event of another
// thread. The simulator's clock would jump to the next timer before the event, so that every time limit passes at once.
// A raw socket is allowed if both of its ends are used on the loop's thread.
#define PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(Suite) PEAL_TEST_ON(engine, Suite, ::peal::test::every_engine())
// Runs a suite with plain streams, through the sealing layer (sealed_port.h) and over TLS (tls_layers.h). Each time,
// the suite runs on every engine. To save time, poll and select are left out with a layer (tested_engines.h). The other
// side of each connection must be a stream of peal or a RawPeer, because only these two can use the layer.
#define PEAL_TEST_ON_EVERY_PORT(Suite)                                               \
  PEAL_TEST_ON_EVERY_ENGINE(Suite);                                                  \
  PEAL_TEST_ON(sealed, Suite, ::peal::test::sealed(::peal::test::kernel_engines())); \
  PEAL_TEST_ON(tls, Suite, ::peal::test::over_tls(::peal::test::kernel_engines()))
#define PEAL_TEST_ON_EVERY_PORT_AND_SIM(Suite)                                     \
  PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(Suite);                                        \
  PEAL_TEST_ON(sealed, Suite, ::peal::test::sealed(::peal::test::every_engine())); \
  PEAL_TEST_ON(tls, Suite, ::peal::test::over_tls(::peal::test::every_engine()))
