// SPDX-License-Identifier: BSD-3-Clause
// A task had a Watch in its frame. When the task was cancelled, the task called watch.stop() with a callback that used
// the frame, and awaited this callback before it ended. But a cancelled task no longer waits for anything: it ended at
// once, its frame was destroyed, and the callback used freed memory (the address sanitizer reported it). In a shield()
// the task does wait, for a bounded time.
#include <sys/eventfd.h>

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/coro/shield.h>
#include <peal/loop/watch.h>
#include <peal/sync/async_queue.h>
#include <tests/support/engines/task_rig.h>

namespace peal {
namespace {

class CancelledTaskCleansUp : public test::TaskTest {
 protected:
  static Task<> let_go(Watch& watch, std::string& order) {
    AsyncQueue<int> done(1);
    watch.stop([&] {
      order += "let go, ";
      int word = 1;
      EXPECT_TRUE(done.try_push(word));
    });
    EXPECT_TRUE(co_await done.pop());
  }
  static Task<> listen_to(Loop& loop, int fd, std::string& order) {
    AsyncQueue<int> news(1);
    Watch watch(loop, fd, {.readable = true}, [&](Readiness) {
      int one = 1;
      static_cast<void>(news.try_push(one));
    });
    const Result<int> none = co_await news.pop();
    EXPECT_FALSE(none);
    co_await shield(let_go(watch, order), std::chrono::hours(1));
    order += "ended";
  }
};
PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(CancelledTaskCleansUp);

TEST_P(CancelledTaskCleansUp, before_its_frame_is_destroyed) {
  const Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::string order;
  std::optional<Scope> scope;
  const auto lead = [&]() -> Task<> {
    scope->spawn(listen_to(loop(), fd.get(), order));
    loop().after(std::chrono::milliseconds(1), [&] { scope->cancel(); });
    static_cast<void>(co_await scope->join());
    loop().stop();
  };
  Scope leads(loop());
  scope.emplace(loop());
  leads.spawn(lead());
  ASSERT_TRUE(loop().run());
  EXPECT_EQ(order, "let go, ended");
}

TEST_P(CancelledTaskCleansUp, when_its_loop_stops_too) {
  const Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::string order;
  std::optional<Scope> scope(loop());
  scope->spawn(listen_to(loop(), fd.get(), order));
  loop().after(std::chrono::milliseconds(1), [&] {
    scope->cancel();
    loop().stop();
  });
  ASSERT_TRUE(loop().run());
  scope.reset();
  EXPECT_EQ(order, "let go, ended");
}

}  // namespace
}  // namespace peal
