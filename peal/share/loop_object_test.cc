// SPDX-License-Identifier: BSD-3-Clause
// Tests of OnLoop: where the object is made, called and destroyed, and what ask() returns. They cover the end of the
// object, of its loop, of an asking coroutine and of that one's loop.
#include <peal/share/loop_object.h>

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <peal/base/log.h>
#include <peal/coro/when.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

const std::error_code kStopped = make_error_code(Trouble::kLoopStopped);
const std::error_code kGone = errno_code(EOWNERDEAD);

// An object that can be neither moved nor copied, has a timer on its loop, and notes where it was made and destroyed.
class Counter {
 public:
  explicit Counter(Loop& loop, std::atomic<bool>* died_there = nullptr)
      : loop_(loop), died_there_(died_there), timer_(loop.every(hours(1), [this] { ++count; })) {
    EXPECT_TRUE(loop.in_loop());
  }
  ~Counter() {
    loop_.cancel(timer_);
    if (died_there_ != nullptr) *died_there_ = loop_.in_loop();
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  int add(int number) { return count += number; }

  int count = 0;
  std::vector<int> heard;

 private:
  Loop& loop_;
  std::atomic<bool>* died_there_;
  TimerId timer_;
};

// Asks objects on the loop `away` from coroutines on the loop of TaskTest.
class OnLoopTest : public test::TaskTest {
 protected:
  void SetUp() override {
    set_log_sink([this](const LogRecord& record) { lines.emplace_back(record.text); });
    test::TaskTest::SetUp();
    if (!IsSkipped()) away_.emplace(options());
  }
  void TearDown() override {
    away_.reset();
    test::TaskTest::TearDown();
    set_log_sink({});
  }
  Loop& away() { return away_->loop(); }
  void end_away() { away_->finish(); }
  OnLoop<Counter> counter(Loop& loop) {
    return {loop, [this](Loop& own) { return Counter(own, &died_there); }};
  }
  // Waits until the loop `away` has done all its work, then stops it from doing more until `standstill` is reset.
  void hold_away() { standstill.emplace(away()); }

  std::atomic<bool> died_there = false;
  // The function that is asked releases `begun` and then waits for `gate`.
  std::binary_semaphore begun{0};
  std::binary_semaphore gate{0};
  std::optional<test::Standstill> standstill;
  std::vector<std::string> lines;

 private:
  std::optional<test::LoopThread> away_;
};

TEST_P(OnLoopTest, is_made_called_and_destroyed_on_its_loop_and_answers_travel_back) {
  run([&]() -> Task<> {
    const auto here = std::this_thread::get_id();
    const OnLoop<Counter> counter = this->counter(away());
    EXPECT_EQ((co_await counter.ask([](Counter& c) { return c.add(2); })).value(), 2);
    EXPECT_TRUE((co_await counter.ask([&](Counter&) { return std::this_thread::get_id() != here; })).value());
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(counter.here(), nullptr);
  });
  test::ask(away(), [] {});
  EXPECT_TRUE(died_there);
}

TEST_P(OnLoopTest, answers_may_be_of_any_type_that_moves) {
  struct Bare {
    explicit Bare(int its_number) : number(its_number) {}
    int number;
  };
  run([&]() -> Task<> {
    const OnLoop<Counter> counter(away());
    EXPECT_EQ((co_await counter.ask([](Counter& c) { return Bare(c.add(3)); })).value().number, 3);
    EXPECT_EQ(*(co_await counter.ask([](Counter& c) { return std::make_unique<int>(c.count); })).value(), 3);
    EXPECT_TRUE((co_await counter.ask([](Counter& c) { c.count = 5; })).has_value());
    EXPECT_EQ((co_await counter.ask([](const Counter& c) -> Result<int> { return c.count; })).value(), 5);
    EXPECT_EQ(error_of(co_await counter.ask([](Counter&) -> Result<int> { return fail(EIO); })), errno_code(EIO));
    EXPECT_THROW(co_await counter.ask([](Counter&) -> int { throw std::runtime_error("no"); }), std::runtime_error);
    const std::string owns = "a text that is too long to lie in the string itself";
    auto named = [owns](Counter&) { return owns; };
    EXPECT_EQ(co_await counter.ask(named), owns);
  });
}

TEST_P(OnLoopTest, on_its_own_loop_it_is_called_at_once_without_a_post) {
  const OnLoop<Counter> counter(loop());
  run([&]() -> Task<> {
    const uint64_t tasks = loop().stats().tasks;
    EXPECT_TRUE(counter.tell([](Counter& c) { c.add(1); }));
    EXPECT_EQ(counter.here()->count, 1);
    for (int i = 2; i < 10; ++i) EXPECT_EQ((co_await counter.ask([](Counter& c) { return c.add(1); })).value(), i);
    int answered = 0;
    counter.ask(loop(), [](Counter& c) { return c.count; }, [&](Result<int> count) { answered = count.value(); });
    EXPECT_EQ(answered, 9);
    EXPECT_THROW(counter.tell([](Counter&) { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_EQ(loop().stats().tasks, tasks);
    co_return;
  });
}

TEST_P(OnLoopTest, what_one_thread_tells_is_called_in_its_order) {
  run([&]() -> Task<> {
    const OnLoop<Counter> counter(away());
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(counter.tell([i](Counter& c) { c.heard.push_back(i); }));
    const auto heard = co_await counter.ask([](Counter& c) { return c.heard; });
    EXPECT_EQ(heard.value().size(), 1000U);
    EXPECT_TRUE(std::ranges::is_sorted(heard.value()));
  });
}

TEST_P(OnLoopTest, callbacks_are_answered_on_the_loop_they_name) {
  const OnLoop<Counter> counter(away());
  std::vector<std::string> answers;
  const auto tell_end = [&](const Result<int>& answer) {
    EXPECT_TRUE(loop().in_loop());
    answers.push_back(answer ? std::to_string(*answer) : answer.error().message());
    if (answers.size() == 2) loop().stop();
  };
  loop().post([&] {
    EXPECT_TRUE(counter.ask(loop(), [](Counter& c) { return c.add(7); }, tell_end));
    EXPECT_TRUE(counter.ask(loop(), [](Counter&) -> int { throw std::runtime_error("no"); }, tell_end));
  });
  ASSERT_TRUE(loop().run());
  EXPECT_THAT(answers, ElementsAre("7", errno_code(ECANCELED).message()));
}

TEST_P(OnLoopTest, a_question_that_is_too_late_is_never_called) {
  run([&]() -> Task<> {
    const OnLoop<Counter> counter(away());
    hold_away();
    EXPECT_EQ(error_of(co_await counter.ask([](Counter& c) { return c.add(1); }).within(milliseconds(5))),
              errno_code(ETIMEDOUT));
    standstill.reset();
    EXPECT_EQ(co_await counter.ask([](Counter& c) { return c.count; }), 0);
  });
}

TEST_P(OnLoopTest, a_cancelled_asker_does_not_wait_and_leaves_nothing_behind) {
  const OnLoop<Counter> counter(away());
  auto asks = [&]() -> Task<> {
    int local = 1;
    const auto answer = co_await counter.ask([&](Counter& c) { return c.add(local); });
    notes.push_back(error_of(answer).message());
  };
  run([&]() -> Task<> {
    hold_away();
    Scope scope(loop());
    scope.spawn(asks());
    co_await sleep({});
    scope.cancel();
    co_await scope.join();
    EXPECT_EQ(notes.size(), 1U);
    standstill.reset();
    EXPECT_EQ(co_await counter.ask([](Counter& c) { return c.count; }), 0);
  });
  EXPECT_THAT(notes, ElementsAre(errno_code(ECANCELED).message()));
}

TEST_P(OnLoopTest, a_question_that_is_being_called_is_waited_for_and_its_answer_counts) {
  const OnLoop<Counter> counter(away());
  auto asks = [&]() -> Task<> {
    const auto answer = co_await counter.ask([&](Counter& c) {
      begun.release();
      gate.acquire();
      return c.add(4);
    });
    EXPECT_EQ(answer, 4);
    notes.emplace_back("answered");
  };
  run([&]() -> Task<> {
    Scope scope(loop());
    scope.spawn(asks());
    co_await sleep({});
    begun.acquire();
    scope.cancel();
    EXPECT_TRUE(notes.empty());
    gate.release();
    co_await scope.join();
  });
  EXPECT_THAT(notes, ElementsAre("answered"));
}

TEST_P(OnLoopTest, what_was_told_and_asked_before_the_last_handle_went_is_still_called) {
  std::atomic<int> told = 0;
  run([&]() -> Task<> {
    auto counter = std::make_unique<OnLoop<Counter>>(this->counter(away()));
    const OnLoop<Counter> other = *counter;
    hold_away();
    counter->tell([&](Counter& c) { told = c.add(1); });
    Scope scope(loop());
    auto asks = [&, handle = counter.get()]() -> Task<> {
      EXPECT_EQ(co_await handle->ask([](Counter& c) { return c.add(1); }), 2);
    };
    scope.spawn(asks());
    co_await sleep({});
    counter.reset();
    EXPECT_TRUE(other.tell([&](Counter& c) { told = c.add(1); })) << "a copy still names it";
    standstill.reset();
    co_await scope.join();
  });
  test::ask(away(), [] {});
  EXPECT_EQ(told, 3);
  EXPECT_TRUE(died_there);
}

TEST_P(OnLoopTest, dies_with_its_loop_and_whoever_asks_then_is_refused) {
  run([&]() -> Task<> {
    const OnLoop<Counter> counter = this->counter(away());
    EXPECT_TRUE(co_await counter.ask([](Counter&) {}));
    end_away();
    EXPECT_TRUE(died_there);
    EXPECT_EQ(error_of(co_await counter.ask([](Counter&) {})), kStopped);
    EXPECT_FALSE(counter.tell([](Counter&) {}));
    EXPECT_FALSE(counter.ask(loop(), [](Counter&) {}, [](const Result<void>&) {}));
    const OnLoop<Counter> late = this->counter(away());
    EXPECT_EQ(error_of(co_await late.ask([](Counter&) {})), kStopped);
  });
}

TEST_P(OnLoopTest, what_it_was_asked_before_its_loop_ended_is_answered) {
  run([&]() -> Task<> {
    const OnLoop<Counter> counter = this->counter(away());
    hold_away();
    away().stop();
    auto asks = [&]() -> Task<Result<int>> { co_return co_await counter.ask([](Counter& c) { return c.add(1); }); };
    auto opens = [&]() -> Task<> {
      standstill.reset();
      co_return;
    };
    const auto [answer, opened] = co_await when_all(asks(), opens());
    EXPECT_EQ(answer, 1);
  });
  end_away();
  EXPECT_TRUE(died_there);
}

TEST_P(OnLoopTest, a_mailbox_that_is_full_refuses) {
  auto narrow_options = options();
  narrow_options.post_limit = 1;
  test::LoopThread narrow(narrow_options);
  run([&]() -> Task<> {
    const OnLoop<Counter> counter(narrow.loop());
    test::ask(narrow.loop(), [] {});
    standstill.emplace(narrow.loop());
    EXPECT_TRUE(counter.tell([](Counter& c) { c.add(1); }));
    EXPECT_FALSE(counter.tell([](Counter& c) { c.add(1); }));
    EXPECT_EQ(error_of(co_await counter.ask([](Counter&) {})), kStopped);
    standstill.reset();
    test::ask(narrow.loop(), [] {});
    EXPECT_EQ(co_await counter.ask([](Counter& c) { return c.count; }), 1);
  });
}

TEST_P(OnLoopTest, the_end_of_the_askers_loop_ends_the_wait) {
  const OnLoop<Counter> counter(away());
  hold_away();
  run_into_the_end([&]() -> Task<> {
    int local = 1;
    const auto answer = co_await counter.ask([&](Counter& c) { return c.add(local); });
    notes.push_back(error_of(answer).message());
  });
  standstill.reset();
  EXPECT_THAT(notes, ElementsAre(kStopped.message()));
  EXPECT_EQ(test::ask(away(), [&] { return counter.here()->count; }), 0);
}

TEST_P(OnLoopTest, the_end_of_the_askers_loop_waits_for_what_uses_the_askers_frame) {
  const OnLoop<Counter> counter(away());
  auto asks = [&]() -> Task<> {
    int local = 1;
    const auto answer = co_await counter.ask([&](Counter& c) {
      begun.release();
      gate.acquire();
      return c.add(local);
    });
    EXPECT_EQ(answer, 1);
    notes.emplace_back("answered");
  };
  std::jthread opens([this, mailbox = loop().mailbox()] {
    while (mailbox->open()) std::this_thread::yield();
    gate.release();
  });
  {
    Scope scope(loop());
    scope.spawn(asks());
    loop().post([this] {
      begun.acquire();
      loop().stop();
    });
    ASSERT_TRUE(loop().run());
  }
  EXPECT_THAT(notes, ElementsAre("answered"));
}

TEST_P(OnLoopTest, a_loop_that_never_runs_answers_when_it_is_destroyed) {
  auto idle = test::make_loop(options()).value();
  run([&]() -> Task<> {
    const OnLoop<Counter> counter(*idle);
    Scope scope(loop());
    auto asks = [&]() -> Task<> { EXPECT_EQ(error_of(co_await counter.ask([](Counter&) {})), kStopped); };
    scope.spawn(asks());
    co_await sleep({});
    idle.reset();
    co_await scope.join();
  });
}

TEST_P(OnLoopTest, what_its_making_throws_is_thrown_where_it_is_asked) {
  run([&]() -> Task<> {
    const OnLoop<Counter> counter(away(), [](Loop& own) -> Counter {
      if (own.in_loop()) throw std::runtime_error("no counter");
      return Counter(own);
    });
    EXPECT_TRUE(counter.tell([](Counter&) { ADD_FAILURE() << "there is none"; }));
    EXPECT_THROW(co_await counter.ask([](Counter&) {}), std::runtime_error);
  });
  end_away();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::HasSubstr("no counter"));
}

TEST_P(OnLoopTest, on_its_own_loop_too_it_dies_after_the_last_handle) {
  run([&]() -> Task<> {
    {
      const OnLoop<Counter> counter = this->counter(loop());
      EXPECT_TRUE(co_await counter.ask([](Counter&) {}));
    }
    EXPECT_FALSE(died_there);
    co_await settle();
    EXPECT_TRUE(died_there);
  });
}

PEAL_TEST_ON_EVERY_ENGINE(OnLoopTest);

}  // namespace
}  // namespace peal
