// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/shield.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/sim/sim_loop.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class ShieldTest : public testing::Test {
 protected:
  void run_for(Duration time) { world.run_for(time); }
  Task<int> take_time(Duration time) {
    const Result<void> slept = co_await sleep(time);
    error = slept ? std::error_code{} : slept.error();
    ended = true;
    co_return 7;
  }

  SimWorld world{1};
  SimLoop loop{world};
  std::optional<Scope> scope{std::in_place, *loop};
  std::error_code error;
  bool ended = false;
  std::optional<int> answer;
};

TEST_F(ShieldTest, cancelled_before_it_is_awaited_to_the_end) {
  const auto task = [this]() -> Task<> {
    EXPECT_FALSE(co_await sleep(hours(1)));
    answer = co_await shield(take_time(seconds(5)), hours(1));
    EXPECT_EQ((co_await sleep(hours(1))).error(), std::errc::operation_canceled) << "outside it is still cancelled";
  };
  scope->spawn(task());
  run_for(seconds(1));
  scope->cancel();
  run_for(seconds(4));
  EXPECT_FALSE(ended);
  run_for(seconds(2));
  EXPECT_TRUE(ended);
  EXPECT_FALSE(error);
  EXPECT_EQ(answer, 7);
  EXPECT_EQ(scope->size(), 0u);
}

TEST_F(ShieldTest, cancelled_while_it_is_under_way) {
  const auto task = [this]() -> Task<> {
    answer = co_await shield(take_time(seconds(5)), hours(1));
    EXPECT_EQ((co_await sleep(hours(1))).error(), std::errc::operation_canceled);
  };
  scope->spawn(task());
  run_for(seconds(1));
  scope->cancel();
  scope->cancel();
  run_for(seconds(3));
  EXPECT_FALSE(ended);
  run_for(seconds(2));
  EXPECT_EQ(answer, 7);
  EXPECT_FALSE(error);
  EXPECT_EQ(scope->size(), 0u);
}

TEST_F(ShieldTest, too_long_it_is_cancelled_with_etimedout) {
  const auto task = [this]() -> Task<> { answer = co_await shield(take_time(hours(1)), seconds(5)); };
  scope->spawn(task());
  scope->cancel();
  run_for(seconds(4));
  EXPECT_FALSE(ended);
  run_for(seconds(2));
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(answer, 7);
  EXPECT_EQ(scope->size(), 0u);
}

TEST_F(ShieldTest, cancelled_again_after_its_deadline_it_ends_once) {
  const auto stubborn = [this]() -> Task<> {
    EXPECT_FALSE(co_await sleep(hours(1)));
    // A second shield protects against the deadline of the shield around it.
    answer = co_await shield(take_time(seconds(5)), hours(1));
  };
  const auto task = [&]() -> Task<> { co_await shield(stubborn(), seconds(1)); };
  scope->spawn(task());
  run_for(seconds(2));
  scope->cancel();
  EXPECT_FALSE(ended);
  run_for(seconds(6));
  EXPECT_FALSE(error);
  EXPECT_EQ(answer, 7);
}

TEST_F(ShieldTest, loop_that_stops_cancels_it) {
  const auto task = [this]() -> Task<> {
    answer = co_await shield(take_time(hours(1)), hours(1));
    // The loop is ending, so a shield that begins now cannot wait either.
    ended = false;
    EXPECT_EQ(co_await shield(take_time(hours(1)), hours(1)), 7);
  };
  scope->spawn(task());
  run_for(seconds(1));
  scope->cancel();
  loop->stop();
  run_for(seconds(1));
  scope.reset();
  EXPECT_TRUE(ended);
  EXPECT_EQ(answer, 7);
  EXPECT_EQ(error, Trouble::kLoopStopped);
}

TEST_F(ShieldTest, exception_comes_through) {
  const auto thrower = []() -> Task<int> {
    static_cast<void>(co_await sleep(seconds(1)));
    throw std::runtime_error("no");
  };
  const auto task = [&]() -> Task<> { EXPECT_THROW(co_await shield(thrower(), hours(1)), std::runtime_error); };
  scope->spawn(task());
  scope->cancel();
  run_for(seconds(2));
  EXPECT_EQ(scope->size(), 0u);
}

TEST_F(ShieldTest, what_needs_not_wait_is_there_at_once) {
  const auto quick = []() -> Task<std::string> { co_return "done"; };
  const auto task = [&]() -> Task<> { EXPECT_EQ(co_await shield(quick(), hours(1)), "done"); };
  scope->cancel();
  scope->spawn(task());
  run_for(seconds(1));
  EXPECT_EQ(scope->size(), 0u);
  EXPECT_EQ(loop->timers_pending(), 0u);
}

}  // namespace
}  // namespace peal
