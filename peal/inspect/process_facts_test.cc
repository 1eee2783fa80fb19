// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/process_facts.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <latch>

#include <gmock/gmock.h>

#include <peal/base/fd.h>
#include <peal/base/thread/thread.h>

namespace peal {
namespace {

TEST(ProcessFacts, what_is_said_of_this_process) {
  const Result<ProcessFacts> facts = read_process_facts(::getpid());
  ASSERT_TRUE(facts) << facts.error().message();
  EXPECT_EQ(facts->pid, ::getpid());
  EXPECT_EQ(facts->parent, ::getppid());
  EXPECT_FALSE(facts->name.empty());
  EXPECT_NE(facts->command.find("inspect_tests"), std::string::npos) << facts->command;
  EXPECT_EQ(facts->state, "running");
  EXPECT_GT(facts->resident_bytes, 1'000'000u);
  EXPECT_GE(facts->peak_resident_bytes, facts->resident_bytes / 2);
  EXPECT_GT(facts->virtual_bytes, facts->resident_bytes);
  EXPECT_GE(facts->threads, 1u);
  ASSERT_TRUE(facts->open_fds);
  EXPECT_GE(*facts->open_fds, 3u);
  const auto age = std::chrono::system_clock::now() - facts->started;
  EXPECT_GT(age, -std::chrono::seconds(2));
  EXPECT_LT(age, std::chrono::hours(1));
}

TEST(ProcessFacts, threads_bear_their_names) {
  std::latch begun(1);
  auto thread = Thread::start("a (b) c", [&](const std::stop_token& stop) {
                  begun.count_down();
                  while (!stop.stop_requested()) std::this_thread::yield();
                }).value();
  begun.wait();
  const Result<std::vector<ThreadFacts>> threads = read_thread_facts(::getpid());
  ASSERT_TRUE(threads);
  const auto found = std::ranges::find(*threads, "a (b) c", &ThreadFacts::name);
  ASSERT_NE(found, threads->end());
  EXPECT_NE(found->id, ::getpid());
  EXPECT_GE(found->processor, 0);
  EXPECT_TRUE(std::ranges::is_sorted(*threads, {}, &ThreadFacts::id));
}

TEST(ProcessFacts, zombie_and_nobody) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  const Result<ProcessFacts> zombie = read_process_facts(child);
  ASSERT_TRUE(zombie);
  EXPECT_EQ(zombie->state, "zombie");
  EXPECT_EQ(zombie->command, "");
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const Result<ProcessFacts> nobody = read_process_facts(child);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error(), std::errc::no_such_process);
  const Result<std::vector<ThreadFacts>> no_threads = read_thread_facts(child);
  ASSERT_FALSE(no_threads);
  EXPECT_EQ(no_threads.error(), std::errc::no_such_process);
}

TEST(ProcessFacts, small_file_is_read_to_its_bound) {
  EXPECT_EQ(read_small_file("/proc/self/comm", 3).value().size(), 3u);
  EXPECT_EQ(read_small_file("/dev/null").value(), "");
  EXPECT_FALSE(read_small_file("/proc/self/nothing"));
}

}  // namespace
}  // namespace peal
