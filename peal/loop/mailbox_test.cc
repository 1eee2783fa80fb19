// SPDX-License-Identifier: BSD-3-Clause
// Tests posts between threads on every engine: a fault here would lose wake-ups.
#include <peal/loop/mailbox.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <peal/loop/loop.h>
#include <tests/support/loop_thread.h>

namespace peal {
namespace {

using test::LoopThread;

class MailboxTest : public test::LoopEngineTest {};
PEAL_TEST_ON_EVERY_ENGINE(MailboxTest);

TEST_P(MailboxTest, tasks_of_each_thread_run_in_its_order) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 5000;
  LoopThread host(options());
  std::vector<int> next(kThreads, 0);  // used only by the loop's thread
  std::atomic<int> out_of_order = 0;
  std::vector<std::jthread> posters;
  for (int thread = 0; thread < kThreads; ++thread) {
    posters.emplace_back([&, thread] {
      for (int i = 0; i < kTasks; ++i) {
        EXPECT_TRUE(host.loop().post([&next, &out_of_order, thread, i] { out_of_order += next[thread]++ != i; }));
      }
    });
  }
  posters.clear();
  host.finish();
  EXPECT_EQ(next, std::vector<int>(kThreads, kTasks));
  EXPECT_EQ(out_of_order, 0);
  EXPECT_EQ(host.loop().stats().tasks, uint64_t{kThreads} * kTasks);
}

// Each post finds the loop about to sleep, asleep or just awake. One lost wake-up makes the test hang.
void post_and_wait(Loop& loop) {
  for (int i = 0; i < 20'000; ++i) {
    std::atomic<bool> done = false;
    ASSERT_TRUE(loop.post([&] {
      done = true;
      done.notify_one();
    }));
    done.wait(false);
  }
}

TEST_P(MailboxTest, no_wake_up_is_lost) {
  LoopThread host(options());
  post_and_wait(host.loop());
}

TEST_P(MailboxTest, no_wake_up_is_lost_by_a_loop_that_spins) {
  LoopOptions spinning = options();
  spinning.spin = Spin{.mode = Spin::Mode::kAuto};
  LoopThread host(spinning);
  post_and_wait(host.loop());
}

TEST_P(MailboxTest, what_was_taken_runs_even_when_the_loop_stops_meanwhile) {
  for (int round = 0; round < 50; ++round) {
    LoopThread host(options());
    std::atomic<int> ran = 0;
    int taken = 0;
    std::jthread stopper([&] { host.loop().stop(); });
    while (host.loop().post([&] { ++ran; })) ++taken;
    stopper.join();
    host.finish();
    EXPECT_EQ(ran, taken);
  }
}

TEST_P(MailboxTest, mailbox_and_waker_outlive_the_loop) {
  std::shared_ptr<Mailbox> mailbox;
  std::shared_ptr<Waker> waker;
  {
    LoopThread host(options());
    mailbox = host.loop().mailbox();
    waker = host.loop().engine().waker();
    EXPECT_TRUE(mailbox->open());
    EXPECT_EQ(mailbox->here(), nullptr);
  }
  EXPECT_FALSE(mailbox->open());
  EXPECT_FALSE(mailbox->post([] {}));
  waker->wake();
}

TEST_P(MailboxTest, closure_that_keeps_the_mailbox_dies_with_the_loop) {
  auto loop = test::make_loop(options()).value();
  std::weak_ptr<Mailbox> watched = loop->mailbox();
  loop->post([kept = loop->mailbox()] {});
  loop.reset();
  EXPECT_TRUE(watched.expired());
}

// The destructor of a refused closure posts a task. The test would hang if the mutex were held during this.
TEST_P(MailboxTest, destructor_of_a_refused_closure_may_post) {
  LoopOptions narrow = options();
  narrow.post_limit = 1;
  auto loop = test::make_loop(narrow).value();
  ASSERT_TRUE(loop->post([] {}));
  bool posted = true;
  const auto post_again = [&](int* never) {
    posted = loop->post([] {});
    delete never;
  };
  EXPECT_FALSE(loop->post([held = std::unique_ptr<int, decltype(post_again)>(new int, post_again)] {}));
  EXPECT_FALSE(posted);
}

TEST_P(MailboxTest, burst_beyond_the_limit_is_refused_and_room_returns) {
  LoopOptions narrow = options();
  narrow.post_limit = 100;
  LoopThread host(narrow);
  {
    const test::Standstill standstill(host.loop());
    int taken = 0;
    while (host.loop().post([] {})) ++taken;
    EXPECT_EQ(taken, 100);
  }
  while (!host.loop().post([] {})) std::this_thread::yield();
}

}  // namespace
}  // namespace peal
