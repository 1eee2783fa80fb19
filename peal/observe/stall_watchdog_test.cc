// SPDX-License-Identifier: BSD-3-Clause
// In most tests a callback blocks until the watchdog has reported it, so the tests do not depend on timing.
#include <peal/observe/stall_watchdog.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/base/thread/blocking_queue.h>
#include <peal/loop/watch.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/loop_thread.h>

namespace peal {

// A gate at which a callback blocks until the test opens it.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [this] { return open_; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// A function with external linkage, so that a stack trace shows its name.
[[gnu::noinline]] void culprit_that_waits(Gate& inside, Gate& gate) {
  inside.open();
  gate.wait();
  asm volatile("" ::: "memory");  // prevents a tail call, so that this function stays on the stack
}

namespace {

using std::chrono::milliseconds;

constinit std::atomic<TimePoint> fake_now{TimePoint(std::chrono::hours(1))};
TimePoint fake_clock() { return fake_now.load(); }

class StallWatchdogTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](const LogRecord& record) { lines.emplace_back(record.text); });
  }
  void TearDown() override { set_log_sink({}); }

  // Makes a watchdog that uses the clock of the test and has no thread.
  std::unique_ptr<StallWatchdog> start_by_hand() {
    return StallWatchdog::start({.threshold = milliseconds(100), .own_thread = false, .clock = fake_clock},
                                [this](const Stall& stall) { stalls.push_back(stall); })
        .value();
  }
  // Waits until the loop has answered the watchdog.
  static void wait_for_answer(Loop& loop) {
    Gate gate;
    loop.post([&] { gate.open(); });
    gate.wait();
  }
  static void pass(Duration time) { fake_now.store(fake_now.load() + time); }

  std::vector<std::string> lines;
  std::vector<Stall> stalls;
};

TEST_F(StallWatchdogTest, watchdog_thread_names_the_function_that_holds_a_loop) {
  BlockingQueue<Stall> stalls_told;
  auto watchdog = StallWatchdog::start({}, [&](const Stall& stall) { stalls_told.put(stall); }).value();
  test::LoopThread thread({.engine = "epoll"});
  watchdog->watch(thread.loop());
  // Waits for the loop's first answer, which tells the watchdog the loop's thread.
  watchdog->look();
  wait_for_answer(thread.loop());
  Stall told;
  // On a busy machine a loop may be delayed for other reasons, perhaps directly before the callback blocks. Both delays
  // are then one stall, and its report has no name of a callback.
  for (int tries = 0; tries < 20 && !told.stack.contains("culprit_that_waits"); ++tries) {
    Gate begun;
    Gate reported;
    thread.loop().post([&] { culprit_that_waits(begun, reported); });
    std::optional<Stall> next = stalls_told.take(monotonic_now() + std::chrono::minutes(1));
    reported.open();
    wait_for_answer(thread.loop());
    ASSERT_TRUE(next.has_value()) << "nobody tells of it";
    told = std::move(*next);
  }
  thread.finish();
  watchdog.reset();
  EXPECT_NE(told.stack.find("culprit_that_waits"), std::string::npos) << told.stack;
  EXPECT_EQ(told.what, "a task");
  EXPECT_GT(told.thread_id, 0);
  EXPECT_GE(told.lasting, milliseconds(100));
  EXPECT_GE(thread.loop().stats().stalls, 1u);
  EXPECT_GE(thread.loop().stats().longest_stall, told.lasting);
}

TEST_F(StallWatchdogTest, says_once_that_nobody_has_told_it_what_to_watch) {
  auto watchdog = start_by_hand();
  watchdog->look();
  pass(milliseconds(900));
  watchdog->look();
  EXPECT_TRUE(lines.empty());
  for (int look = 0; look < 3; ++look) {
    pass(milliseconds(200));
    watchdog->look();
  }
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("watches no loop"), std::string::npos) << lines[0];
}

TEST_F(StallWatchdogTest, says_nothing_once_it_was_told_even_when_its_loops_have_ended) {
  auto watchdog = start_by_hand();
  {
    test::LoopThread thread({.engine = "epoll"});
    watchdog->watch(thread.loop());
  }
  pass(std::chrono::seconds(5));
  watchdog->look();
  EXPECT_TRUE(lines.empty());
}

TEST_F(StallWatchdogTest, stall_that_begins_before_the_first_look_is_told) {
  auto watchdog = start_by_hand();
  test::LoopThread thread({.engine = "epoll"});
  watchdog->watch(thread.loop());
  wait_for_answer(thread.loop());
  Gate begun;
  Gate released;
  thread.loop().post([&] { culprit_that_waits(begun, released); });
  begun.wait();
  watchdog->look();
  pass(milliseconds(100));
  watchdog->look();
  released.open();
  thread.finish();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_NE(stalls.front().stack.find("culprit_that_waits"), std::string::npos) << stalls.front().stack;
}

TEST_F(StallWatchdogTest, timers_watches_events_and_tasks_are_told_apart) {
  auto watchdog = start_by_hand();
  test::LoopThread thread({.engine = "epoll"});
  Loop& loop = thread.loop();
  watchdog->watch(loop);
  watchdog->look();
  wait_for_answer(loop);
  auto [out, in] = test::pipe_ends(O_CLOEXEC | O_NONBLOCK);
  std::unique_ptr<Watch> watch;
  Gate inside;
  Gate gate;
  loop.post([&] {
    watch = std::make_unique<Watch>(loop, std::move(out), Readiness{.readable = true}, [&](Readiness) {
      culprit_that_waits(inside, gate);
      watch.reset();
    });
  });
  ASSERT_EQ(::write(in.get(), "x", 1), 1);
  inside.wait();
  watchdog->look();
  pass(milliseconds(150));
  watchdog->look();
  watchdog->look();
  gate.open();
  wait_for_answer(loop);
  Gate fired;
  Gate timer_gate;
  loop.post([&] { loop.after(Duration::zero(), [&] { culprit_that_waits(fired, timer_gate); }); });
  fired.wait();
  watchdog->look();
  pass(milliseconds(120));
  watchdog->look();
  timer_gate.open();
  wait_for_answer(loop);
  thread.finish();
  ASSERT_EQ(stalls.size(), 2u);
  EXPECT_EQ(stalls[0].what, "a watch");
  EXPECT_EQ(stalls[0].lasting, milliseconds(150));
  EXPECT_EQ(stalls[1].what, "a timer");
  for (const Stall& each : stalls) EXPECT_NE(each.stack.find("culprit_that_waits"), std::string::npos) << each.stack;
  EXPECT_EQ(loop.stats().stalls, 2u);
  EXPECT_EQ(loop.stats().longest_stall, milliseconds(150));
  ASSERT_EQ(lines.size(), 1u) << "the second within a second is held back";
  EXPECT_NE(lines[0].find("held for 150 ms by a watch"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("culprit_that_waits"), std::string::npos) << lines[0];
}

TEST_F(StallWatchdogTest, loops_that_sleep_or_do_not_run_are_not_held_to_stall) {
  auto watchdog = start_by_hand();
  auto idle = Loop::make({.engine = "epoll"}).value();
  auto dead = Loop::make({.engine = "epoll"}).value();
  watchdog->watch(*idle);
  watchdog->watch(*dead);
  test::LoopThread thread({.engine = "epoll"});
  watchdog->watch(thread.loop());
  for (int round = 0; round < 5; ++round) {
    watchdog->look();
    wait_for_answer(thread.loop());
    pass(std::chrono::seconds(10));
    dead.reset();
  }
  idle->post([&] { idle->stop(); });
  ASSERT_TRUE(idle->run());
  thread.finish();
  EXPECT_TRUE(stalls.empty());
  EXPECT_EQ(idle->stats().stalls, 0u);
  EXPECT_EQ(thread.loop().stats().stalls, 0u);
}

TEST_F(StallWatchdogTest, thread_that_blocks_the_signal_is_reported_without_a_stack) {
  auto watchdog = start_by_hand();
  test::LoopThread thread({.engine = "epoll"});
  watchdog->watch(thread.loop());
  watchdog->look();
  wait_for_answer(thread.loop());
  Gate inside;
  Gate gate;
  thread.loop().post([&] {
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    ::pthread_sigmask(SIG_BLOCK, &urgent, nullptr);
    inside.open();
    gate.wait();
    ::pthread_sigmask(SIG_UNBLOCK, &urgent, nullptr);  // the signal arrives too late, and no request waits for it
  });
  inside.wait();
  watchdog->look();
  pass(milliseconds(100));
  watchdog->look();
  gate.open();
  wait_for_answer(thread.loop());
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_NE(stalls[0].stack.find("took no signal"), std::string::npos);
}

TEST_F(StallWatchdogTest, one_in_a_process_and_the_signal_is_given_back) {
  struct sigaction before{};
  struct sigaction after{};
  ::sigaction(SIGURG, nullptr, &before);
  auto watchdog = start_by_hand();
  EXPECT_EQ(StallWatchdog::start().error(), errno_code(EBUSY));
  watchdog.reset();
  ::sigaction(SIGURG, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  EXPECT_TRUE(StallWatchdog::start());
}

}  // namespace
}  // namespace peal
