// SPDX-License-Identifier: BSD-3-Clause
// Tests signals as events of a loop on every engine, with real signals sent to this process.
#include <peal/loop/parts/signal_watch.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
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
    if (!IsSkipped()) loop = test::make_loop(options()).value();
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

TEST_P(SignalTest, impossible_signals_are_refused) {
  for (const int impossible : {0, -1, SIGKILL, SIGSTOP, 32, NSIG, 1000}) {
    EXPECT_EQ(loop->on_signal(impossible, [] {}).error(), errno_code(EINVAL)) << impossible;
  }
  EXPECT_FALSE(loop->cancel(SignalId{}));
}

TEST_P(SignalTest, handlers_of_one_signal_are_called_in_order_until_cancelled) {
  std::string heard;
  SignalId first = loop->on_signal(SIGUSR1,
                                   [&] {
                                     heard += "1";
                                     EXPECT_TRUE(loop->cancel(first));
                                     EXPECT_FALSE(loop->cancel(first));
                                     send_to_process(SIGUSR1);
                                   })
                       .value();
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] { heard += "2"; }));
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] {
    heard += "3";
    if (heard.size() > 3) loop->stop();
  }));
  send_to_process(SIGUSR1);
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(heard, "12323");
}

TEST_P(SignalTest, any_catchable_signal_is_heard) {
  int heard = 0;
  int asked = 0;
  for (const int each : {SIGHUP, SIGQUIT, SIGSEGV, SIGFPE, SIGCHLD, SIGWINCH, SIGPIPE, SIGTSTP, SIGRTMIN, SIGRTMAX}) {
    ++asked;
    ASSERT_TRUE(loop->on_signal(each, [&] {
      if (++heard == asked) loop->stop();
    })) << each;
    send_to_process(each);
  }
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(heard, asked);
}

TEST_P(SignalTest, children_that_end_together_are_all_there_when_the_loop_hears_of_one) {
  int reaped = 0;
  ASSERT_TRUE(loop->on_signal(SIGCHLD, [&] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) ++reaped;
    if (reaped == 5) loop->stop();
  }));
  for (int child = 0; child < 5; ++child) {
    if (::fork() == 0) ::_exit(0);
  }
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(reaped, 5);
}

TEST_P(SignalTest, every_loop_with_the_signal_hears_it) {
  std::unique_ptr<Loop> other = test::make_loop(options()).value();
  std::atomic<int> heard = 0;
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] {
    ++heard;
    loop->stop();
  }));
  ASSERT_TRUE(other->on_signal(SIGUSR1, [&] {
    ++heard;
    other->stop();
  }));
  std::jthread thread([&] { EXPECT_TRUE(other->run()); });
  send_to_process(SIGUSR1);
  ASSERT_TRUE(loop->run());
  thread.join();
  EXPECT_EQ(heard, 2);
}

void foreign_handler(int) {}

TEST_P(SignalTest, disposition_comes_back_with_the_last_handler_in_the_process) {
  struct sigaction mine{};
  struct sigaction now{};
  mine.sa_handler = foreign_handler;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR1, &mine, &before), 0);
  std::unique_ptr<Loop> other = test::make_loop(options()).value();
  const SignalId first = loop->on_signal(SIGUSR1, [] {}).value();
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [] {}));
  ASSERT_TRUE(other->on_signal(SIGUSR1, [] {}));
  EXPECT_TRUE(loop->cancel(first));
  loop.reset();
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_NE(now.sa_handler, foreign_handler);
  other.reset();
  ASSERT_EQ(::sigaction(SIGUSR1, &before, &now), 0);
  EXPECT_EQ(now.sa_handler, foreign_handler);
}

TEST_P(SignalTest, blocked_signal_is_unblocked_and_blocked_again_at_the_end) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [] {}));
  ASSERT_TRUE(loop->on_signal(SIGUSR2, [&] { loop->stop(); }));
  EXPECT_FALSE(is_blocked(SIGUSR2));
  send_to_process(SIGUSR2);
  ASSERT_TRUE(loop->run());
  loop.reset();
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_TRUE(is_blocked(SIGUSR2));
  ASSERT_EQ(::pthread_sigmask(SIG_UNBLOCK, &set, nullptr), 0);
}

// A loop that was made before fork() and runs in the child handles the child's signals. The parent's loop handles the
// parent's signals.
TEST_P(SignalTest, child_of_a_fork_hears_its_own_signals) {
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] { loop->stop(); }));
  const pid_t child = ::fork();
  if (child == 0) {
    send_to_process(SIGUSR1);
    ::_exit(loop->run() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  send_to_process(SIGUSR1);
  ASSERT_TRUE(loop->run());
}

using SignalDeathTest = SignalTest;
PEAL_TEST_ON_EVERY_ENGINE(SignalDeathTest);

TEST_P(SignalDeathTest, default_effect_is_back_once_the_loop_is_gone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ASSERT_TRUE(loop->stop_on_signals());
  loop.reset();
  EXPECT_EXIT(send_to_process(SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace peal
