// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/thread/thread.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>

#include <gtest/gtest.h>

namespace peal {
namespace {

Thread start(std::string_view name, Thread::Body body) {
  Result<Thread> thread = Thread::start(name, std::move(body));
  EXPECT_TRUE(thread) << thread.error().message();
  return std::move(*thread);
}

TEST(Thread, bears_its_name_from_the_first_line_of_the_body) {
  std::string seen, seen_by_kernel;
  start("peal-loop-3", [&](const std::stop_token&) {
    seen = current_thread_name();
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(current_thread_id()) + "/comm"), seen_by_kernel);
  }).join();
  EXPECT_EQ(seen, "peal-loop-3");
  EXPECT_EQ(seen_by_kernel, "peal-loop-3");
}

TEST(Thread, a_long_name_loses_its_end) {
  std::string seen;
  start("0123456789abcdefgh", [&](const std::stop_token&) { seen = current_thread_name(); }).join();
  EXPECT_EQ(seen, "0123456789abcde");
  EXPECT_EQ(seen.size(), kMaxThreadNameBytes);
}

TEST(Thread, destruction_asks_to_stop_and_joins) {
  std::atomic<bool> ended = false;
  {
    const Thread thread = start("stopped", [&](const std::stop_token& stop) {
      std::latch stopped(1);
      const std::stop_callback on_stop(stop, [&] { stopped.count_down(); });
      stopped.wait();
      ended = true;
    });
    EXPECT_TRUE(thread.joinable());
  }
  EXPECT_TRUE(ended);
}

TEST(Thread, moves_and_is_joined_once) {
  Thread thread;
  EXPECT_FALSE(thread.joinable());
  thread = start("moved", [](const std::stop_token&) {});
  Thread other = std::move(thread);
  EXPECT_FALSE(thread.joinable());  // NOLINT(bugprone-use-after-move)
  other.join();
  EXPECT_FALSE(other.joinable());
}

TEST(Thread, ids_are_the_kernel_s_and_differ) {
  EXPECT_EQ(current_thread_id(), ::gettid());
  pid_t id = 0, again = 0, kernel_id = 0;
  start("id", [&](const std::stop_token&) {
    id = current_thread_id();
    again = current_thread_id();
    kernel_id = ::gettid();
  }).join();
  EXPECT_EQ(id, kernel_id);
  EXPECT_EQ(again, kernel_id);
  EXPECT_NE(id, current_thread_id());
}

TEST(Thread, the_child_of_a_fork_has_an_id_of_its_own) {
  EXPECT_EQ(current_thread_id(), ::gettid());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(current_thread_id() == ::gettid() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Thread, pinned_runs_on_that_cpu_alone) {
  Result<void> pinned = fail(EINVAL);
  int cpu = -1, ran_on = -1, allowed = -1;
  start("pinned", [&](const std::stop_token&) {
    cpu = ::sched_getcpu();
    pinned = pin_current_thread(static_cast<unsigned>(cpu));
    ran_on = ::sched_getcpu();
    cpu_set_t cpus;
    ::sched_getaffinity(0, sizeof(cpus), &cpus);
    allowed = CPU_COUNT(&cpus);
  }).join();
  EXPECT_TRUE(pinned) << pinned.error().message();
  EXPECT_EQ(ran_on, cpu);
  EXPECT_EQ(allowed, 1);
}

TEST(Thread, a_cpu_that_is_not_there_is_an_error) {
  const Result<void> pinned = pin_current_thread(100'000);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error(), errno_code(EINVAL));
}

TEST(ThreadDeath, joining_nothing_asserts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Thread().join(), "never started, or has been joined");
}

TEST(ThreadDeath, an_exception_that_leaves_the_body_ends_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(start("thrower", [](const std::stop_token&) { throw 1; }).join(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace peal
