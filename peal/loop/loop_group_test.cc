// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/loop_group.h>

#include <sys/resource.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <tests/support/loop_thread.h>

namespace peal {
namespace {

class LoopGroupTest : public test::LoopEngineTest {
 protected:
  // Runs `task` on the loop and waits for it.
  static void call(Loop& loop, Loop::Callback task) {
    std::atomic<bool> done = false;
    ASSERT_TRUE(loop.post([&] {
      task();
      done = true;
      done.notify_one();
    }));
    done.wait(false);
  }
};
PEAL_TEST_ON_EVERY_ENGINE(LoopGroupTest);

TEST_P(LoopGroupTest, each_loop_runs_on_a_named_thread_of_its_own) {
  auto group = LoopGroup::start(3, options(), "bell").value();
  ASSERT_EQ(group->size(), 3u);
  std::set<std::thread::id> threads{std::this_thread::get_id()};
  for (size_t i = 0; i < group->size(); ++i) {
    Loop& loop = (*group)[i];
    EXPECT_EQ(loop.engine().name(), GetParam());
    call(loop, [&] {
      EXPECT_TRUE(loop.in_loop());
      EXPECT_EQ(current_thread_name(), "bell-" + std::to_string(i));
      threads.insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(threads.size(), 4u);
}

TEST_P(LoopGroupTest, long_name_keeps_its_number) {
  auto group = LoopGroup::start(2, options(), "a-name-far-too-long").value();
  call((*group)[1], [] { EXPECT_EQ(current_thread_name(), "a-name-far-to-1"); });
}

TEST_P(LoopGroupTest, stop_and_join_leave_loops_that_may_be_looked_at) {
  auto group = LoopGroup::start(2, options()).value();
  group->stop();
  group->join();
  group->join();
  for (size_t i = 0; i < group->size(); ++i) {
    EXPECT_FALSE((*group)[i].post([] {}));
    EXPECT_GE((*group)[i].stats().tasks, 1u);
  }
}

TEST_P(LoopGroupTest, one_of_its_loops_may_stop_the_group) {
  auto group = LoopGroup::start(2, options()).value();
  ASSERT_TRUE((*group)[1].post([&] { group->stop(); }));
  group->join();
}

TEST_P(LoopGroupTest, loops_post_to_each_other_while_the_group_ends) {
  auto group = LoopGroup::start(2, options()).value();
  std::atomic<int> hops = 0;
  std::function<void(size_t)> hop = [&](size_t to) {
    if (++hops == 1000) group->stop();
    (*group)[to].post([&, to] { hop(1 - to); });
  };
  ASSERT_TRUE((*group)[0].post([&] { hop(1); }));
  group->join();
  EXPECT_GE(hops, 1000);
}

TEST(LoopGroup, no_loops_are_an_error) { EXPECT_EQ(test::error_of(LoopGroup::start(0)), errno_code(EINVAL)); }

TEST(LoopGroup, unknown_engine_is_an_error) {
  EXPECT_EQ(test::error_of(LoopGroup::start(2, LoopOptions{.engine = "steam"})), Trouble::kUnsupportedEngine);
}

// The first loops get their fds and a later loop does not. Then all loops are stopped again and no fd is left open.
TEST_P(LoopGroupTest, running_out_of_fds_is_an_error) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 20, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto group = LoopGroup::start(40, options());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(group);
  EXPECT_TRUE(LoopGroup::start(2, options()));
}

}  // namespace
}  // namespace peal
