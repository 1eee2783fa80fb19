// SPDX-License-Identifier: BSD-3-Clause
// Signals as events of a loop, on every engine: real signals, sent to this process.
#include <peal/loop/parts/signal_watch.h>

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

void send_to_process(int signal_number) { ASSERT_EQ(::kill(::getpid(), signal_number), 0); }

bool is_blocked(int signal_number) {
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return ::sigismember(&mask, signal_number) == 1;
}

class SignalTest : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    LoopEngineTest::SetUp();
    if (!IsSkipped()) loop = Loop::make(options()).value();
  }
  std::unique_ptr<Loop> loop;
};
PEAL_TEST_ON_EVERY_ENGINE(SignalTest);

TEST_P(SignalTest, several_signals_each_with_its_handler) {
  std::string heard;
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] {
    heard += "usr1 ";
    send_to_process(SIGUSR2);
  }));
  ASSERT_TRUE(loop->on_signal(SIGUSR2, [&] {
    heard += "usr2 ";
    loop->stop();
  }));
  loop->post([] { send_to_process(SIGUSR1); });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(heard, "usr1 usr2 ");
}

TEST_P(SignalTest, signal_that_came_before_run_is_heard) {
  ASSERT_TRUE(loop->stop_on_signals());
  send_to_process(SIGTERM);
  ASSERT_TRUE(loop->run());
}

TEST_P(SignalTest, interrupt_stops_the_loop_on_another_thread) {
  ASSERT_TRUE(loop->stop_on_signals());
  std::jthread thread([&] { EXPECT_TRUE(loop->run()); });
  send_to_process(SIGINT);
}

TEST_P(SignalTest, handler_that_raises_its_own_signal) {
  int heard = 0;
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] {
    if (++heard == 100) return loop->stop();
    send_to_process(SIGUSR1);
  }));
  send_to_process(SIGUSR1);
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(heard, 100);
}

TEST_P(SignalTest, handlers_may_be_added_while_the_loop_runs) {
  loop->post([&] {
    ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] {
      ASSERT_TRUE(loop->on_signal(SIGUSR2, [&] { loop->stop(); }));
      send_to_process(SIGUSR2);
    }));
    send_to_process(SIGUSR1);
  });
  ASSERT_TRUE(loop->run());
}

TEST_P(SignalTest, throwing_handler_is_survived) {
  set_log_sink([](const LogRecord&) {});
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] {
    loop->post([&] { loop->stop(); });
    throw std::runtime_error("no");
  }));
  send_to_process(SIGUSR1);
  ASSERT_TRUE(loop->run());
  set_log_sink({});
  EXPECT_EQ(loop->stats().exceptions, 1u);
}

TEST_P(SignalTest, second_handler_and_impossible_signals_are_refused) {
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [] {}));
  EXPECT_EQ(loop->on_signal(SIGUSR1, [] {}).error(), errno_code(EEXIST));
  for (const int impossible : {0, -1, SIGKILL, SIGSTOP, 32, NSIG, 1000}) {
    EXPECT_EQ(loop->on_signal(impossible, [] {}).error(), errno_code(EINVAL)) << impossible;
  }
}

TEST_P(SignalTest, mask_is_restored_and_what_came_unread_is_dropped) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [] {}));
  ASSERT_TRUE(loop->on_signal(SIGUSR2, [] {}));
  EXPECT_TRUE(is_blocked(SIGUSR1));
  loop->stop();
  ASSERT_TRUE(loop->run());
  send_to_process(SIGUSR1);  // unblocked with this pending, the process would die
  loop.reset();
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_TRUE(is_blocked(SIGUSR2));
  ASSERT_EQ(::pthread_sigmask(SIG_UNBLOCK, &set, nullptr), 0);
}

TEST_P(SignalTest, loop_that_never_ran_restores_the_mask) {
  ASSERT_TRUE(loop->stop_on_signals());
  EXPECT_TRUE(is_blocked(SIGINT));
  loop.reset();
  EXPECT_FALSE(is_blocked(SIGINT));
  EXPECT_FALSE(is_blocked(SIGTERM));
}

TEST_P(SignalTest, of_two_loops_with_one_signal_one_hears_it) {
  std::unique_ptr<Loop> other = Loop::make(options()).value();
  int heard = 0;
  const auto hear = [&] {
    ++heard;
    loop->stop();
    other->stop();
  };
  ASSERT_TRUE(loop->on_signal(SIGUSR1, hear));
  ASSERT_TRUE(other->on_signal(SIGUSR1, hear));
  // Both watch before the signal comes.
  other->post([&] { loop->post([] { send_to_process(SIGUSR1); }); });
  std::jthread thread([&] { EXPECT_TRUE(other->run()); });
  ASSERT_TRUE(loop->run());
  thread.join();
  EXPECT_EQ(heard, 1);
}

}  // namespace
}  // namespace peal
