// SPDX-License-Identifier: BSD-3-Clause
// Tests how a loop handles tasks, and the loop's life from before run() to after its end. The engine's clock stands
// still.
#include <peal/loop/loop.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <tests/support/engines/fake_engine.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::FakeEngine;

class LoopTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](const LogRecord& record) { lines.emplace_back(record.text); });
    auto fake = std::make_unique<FakeEngine>(world);
    engine = fake.get();
    loop = std::make_unique<Loop>(std::move(fake), LoopOptions{.post_limit = 8});
  }
  void TearDown() override {
    loop.reset();
    set_log_sink({});
  }

  std::vector<std::string> lines;
  std::shared_ptr<FakeEngine::World> world = std::make_shared<FakeEngine::World>();
  FakeEngine* engine = nullptr;
  std::unique_ptr<Loop> loop;
};

// Returns a task that calls `last` when its closure is destroyed.
struct AtDeath {
  explicit AtDeath(std::function<void()> f) : last(std::move(f)) {}
  AtDeath(AtDeath&& other) noexcept : last(std::exchange(other.last, {})) {}
  ~AtDeath() {
    if (last) last();
  }
  void operator()() {}
  std::function<void()> last;
};

TEST_F(LoopTest, what_a_task_posts_runs_in_the_next_turn) {
  std::vector<uint64_t> turns;
  loop->post([&] {
    turns.push_back(loop->stats().turns);
    loop->post([&] {
      turns.push_back(loop->stats().turns);
      loop->stop();
    });
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(turns, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(loop->stats().tasks, 2u);
}

TEST_F(LoopTest, post_on_its_own_thread_wakes_nobody) {
  int left = 3;
  std::function<void()> again = [&] { --left > 0 ? loop->post(again) : (loop->stop(), true); };
  world->plan(milliseconds(1), [&] { loop->post(again); });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(left, 0);
  EXPECT_EQ(engine->wakes(), 0u);
}

TEST_F(LoopTest, throwing_tasks_are_survived_counted_and_logged_at_a_bounded_rate) {
  loop->post([] { throw std::runtime_error("the first"); });
  loop->post([] { throw 42; });
  bool ran = false;
  loop->post([&] { ran = true; });
  world->plan(milliseconds(1500), [&] { loop->post([] { throw 43; }); });
  world->plan(milliseconds(1501), [&] { loop->stop(); });
  ASSERT_TRUE(loop->run());
  EXPECT_TRUE(ran);
  EXPECT_EQ(loop->stats().exceptions, 3u);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("the first"), std::string::npos);
  EXPECT_NE(lines[1].find("1 more"), std::string::npos);
}

TEST_F(LoopTest, full_mailbox_refuses_and_the_closure_dies_on_the_caller) {
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(loop->post([] {}));
  bool dead = false;
  EXPECT_FALSE(loop->post(AtDeath([&] { dead = true; })));
  EXPECT_TRUE(dead);
  EXPECT_FALSE(loop->run_in_loop([] {}));
}

TEST_F(LoopTest, run_in_loop_is_immediate_on_its_thread_and_posted_before_run) {
  std::string order;
  EXPECT_FALSE(loop->in_loop());
  EXPECT_TRUE(loop->run_in_loop([&] {
    EXPECT_TRUE(loop->in_loop());
    loop->run_in_loop([&] { order += "inner "; });
    order += "outer";
    loop->stop();
  }));
  EXPECT_EQ(order, "");
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(order, "inner outer");
  EXPECT_FALSE(loop->in_loop());
}

TEST_F(LoopTest, stop_before_run_runs_what_was_taken_and_returns_at_once) {
  bool ran = false;
  bool saw_open = false;
  loop->post([&] {
    ran = true;
    saw_open = world->open;
    EXPECT_FALSE(loop->post([] {}));
  });
  loop->stop();
  ASSERT_TRUE(loop->run());
  EXPECT_TRUE(ran);
  EXPECT_TRUE(saw_open);
  EXPECT_EQ(loop->stats().turns, 0u);
  EXPECT_FALSE(loop->mailbox()->open());
}

TEST_F(LoopTest, tasks_taken_before_the_end_run_before_the_engine_shuts) {
  std::string order;
  world->on_shut = [&] { order += "shut"; };
  world->plan(milliseconds(1), [&] {
    loop->stop();
    loop->post([&] {
      order += "task ";
      loop->post([&] { order += "last "; });
    });
  });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(order, "task last shut");
}

TEST_F(LoopTest, everything_may_be_called_while_the_engine_shuts) {
  bool shut = false;
  const TimerId pending = loop->after(std::chrono::hours(1), [] {});
  world->on_shut = [&] {
    shut = true;
    EXPECT_TRUE(loop->in_loop());
    EXPECT_FALSE(loop->after(milliseconds(1), [] {}));
    EXPECT_FALSE(loop->every(milliseconds(1), [] {}));
    EXPECT_FALSE(loop->rearm(pending, loop->now()));
    EXPECT_TRUE(loop->cancel(pending));
    EXPECT_FALSE(loop->post([] {}));
    EXPECT_EQ(loop->on_signal(SIGUSR1, [] {}).error(), Trouble::kLoopStopped);
    bool ran = false;
    EXPECT_TRUE(loop->run_in_loop([&] { ran = true; }));
    EXPECT_TRUE(ran);
    loop->stop();
  };
  loop->post([&] { loop->stop(); });
  ASSERT_TRUE(loop->run());
  EXPECT_TRUE(shut);
}

TEST_F(LoopTest, pending_timers_die_on_the_loops_thread_and_may_call_in) {
  int deaths = 0;
  TimerId other;
  const auto die = [&] {
    ++deaths;
    EXPECT_TRUE(loop->in_loop());
    loop->cancel(other);
    EXPECT_FALSE(loop->after(milliseconds(1), [] {}));
    EXPECT_FALSE(loop->post([] {}));
  };
  loop->after(milliseconds(5), AtDeath(die));
  other = loop->after(milliseconds(6), AtDeath(die));
  loop->every(milliseconds(7), AtDeath(die));
  loop->post([&] { loop->stop(); });
  std::thread([&] { EXPECT_TRUE(loop->run()); }).join();
  EXPECT_EQ(deaths, 3);
}

TEST_F(LoopTest, loop_that_never_ran_drops_its_tasks_and_timers) {
  int deaths = 0;
  const std::shared_ptr<Mailbox> mailbox = loop->mailbox();
  const auto die = [&] {
    ++deaths;
    EXPECT_FALSE(mailbox->post([] {}));
  };
  loop->post(AtDeath(die));
  loop->after(milliseconds(5), AtDeath(die));
  loop.reset();
  EXPECT_EQ(deaths, 2);
  EXPECT_FALSE(mailbox->post([] {}));
  EXPECT_EQ(mailbox->here(), nullptr);
}

TEST_F(LoopTest, what_it_keeps_dies_on_its_thread_when_it_ends_and_may_still_cancel_timers) {
  std::string order;
  world->on_shut = [&] { order += "shut "; };
  const TimerId timer = loop->after(std::chrono::hours(1), [] {});
  const auto dies = [&](const char* what, bool cancels) {
    return std::make_shared<AtDeath>([this, &order, what, cancels, timer] {
      EXPECT_TRUE(loop->in_loop());
      EXPECT_EQ(loop->cancel(timer), cancels);
      order += what;
    });
  };
  const auto let_go = std::make_shared<int>(0);
  EXPECT_TRUE(loop->keep(dies("kept", true)));
  EXPECT_TRUE(loop->keep(let_go));
  EXPECT_EQ(let_go.use_count(), 2);
  EXPECT_TRUE(loop->let_go(let_go.get()));
  EXPECT_FALSE(loop->let_go(let_go.get()));
  EXPECT_EQ(let_go.use_count(), 1);
  loop->stop();
  loop->post([&] { order += "task "; });
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(order, "task shut kept");
  EXPECT_FALSE(loop->keep(let_go));
}

TEST_F(LoopTest, what_it_keeps_dies_in_reverse_order_with_what_is_kept_meanwhile) {
  std::string order;
  const auto dies = [&](char name) { return std::make_shared<AtDeath>([&order, name] { order += name; }); };
  std::array<std::shared_ptr<AtDeath>, 4> kept = {dies(' '), dies(' '), dies(' '), dies(' ')};
  std::ranges::sort(kept);
  const void* const let_go = kept[1].get();
  for (size_t i = 0; i < kept.size(); ++i) {
    kept[i]->last = [&, name = static_cast<char>('a' + i)] {
      order += name;
      EXPECT_TRUE(name != 'c' || loop->keep(dies('!')));
      EXPECT_TRUE(name != 'd' || loop->let_go(let_go));
    };
    EXPECT_TRUE(loop->keep(std::exchange(kept[i], nullptr)));
  }
  loop->post([&] { EXPECT_TRUE(loop->keep(dies('e'))); });
  loop->stop();
  ASSERT_TRUE(loop->run());
  EXPECT_EQ(order, "edbc!a");
}

TEST_F(LoopTest, engine_that_cannot_open_ends_the_loop) {
  world->open_error = errno_code(EMFILE);
  bool dead = false;
  bool ran = false;
  loop->post([&ran, death = AtDeath([&] { dead = true; })] { ran = true; });
  EXPECT_EQ(loop->run().error(), errno_code(EMFILE));
  EXPECT_TRUE(dead);
  EXPECT_FALSE(ran);
  EXPECT_FALSE(loop->post([] {}));
  EXPECT_FALSE(loop->after(milliseconds(1), [] {}));
}

TEST_F(LoopTest, whoever_has_an_ended_loop_may_touch_it) {
  loop->stop();
  std::thread([&] { EXPECT_TRUE(loop->run()); }).join();
  loop->assert_here();
  EXPECT_FALSE(loop->cancel(TimerId{}));
  EXPECT_EQ(loop->now(), world->now);
}

class LoopDeathTest : public LoopTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    LoopTest::SetUp();
  }
};

TEST_F(LoopDeathTest, running_twice) {
  loop->stop();
  ASSERT_TRUE(loop->run());
  EXPECT_DEATH((void)loop->run(), "has ended");
}

TEST_F(LoopDeathTest, destroyed_inside_run) {
  loop->post([&] { loop.reset(); });
  EXPECT_DEATH((void)loop->run(), "while a thread runs it");
}

TEST_F(LoopDeathTest, touched_by_another_thread) {
  loop->post([&] { std::thread([&] { loop->cancel(TimerId{}); }).join(); });
  EXPECT_DEATH((void)loop->run(), "another thread's loop");
}

TEST_F(LoopDeathTest, exception_out_of_an_engines_callback) {
  world->plan(milliseconds(1), [] { throw std::runtime_error("nobody caught this"); });
  EXPECT_DEATH((void)loop->run(), "nobody caught this");
}

}  // namespace
}  // namespace peal
