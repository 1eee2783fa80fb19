// SPDX-License-Identifier: BSD-3-Clause
#include <load/process_files.h>

#include <sys/prctl.h>
#include <unistd.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/forked_server.h>
#include <peal/base/thread/thread.h>
#include <tests/support/sanitized.h>

namespace peal::load {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(ProcessFiles, a_process_name_may_contain_parentheses) {
  PipeSignal named;
  PipeSignal end;
  ForkedServer process([&] {
    ::prctl(PR_SET_NAME, ") Z 1 (");
    named.tell();
    end.await();
  });
  named.await();
  const Result<ProcessStat> stat = read_process_stat(process.pid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, ::getpid());
  EXPECT_TRUE(stat->alive);
  EXPECT_GT(stat->resident_bytes, 0U);
  EXPECT_GE(stat->started, read_process_stat(::getpid())->started);
  end.tell();
}

TEST(ProcessFiles, a_process_that_ended_is_there_until_somebody_waits_for_it) {
  const int pid = fork_child([] {});
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(read_process_stat(pid).value().alive);
  EXPECT_TRUE(cpu_clock_of(pid));
  wait_for(pid);
  EXPECT_EQ(read_process_stat(pid).error(), errno_code(ESRCH));
  EXPECT_EQ(cpu_clock_of(pid).error(), errno_code(ESRCH));
  EXPECT_THAT(read_thread_statuses(pid), IsEmpty());
}

TEST(ProcessFiles, both_ways_find_the_children_of_all_threads) {
  PipeSignal end;
  int of_thread = 0;
  int thread_id = 0;
  const int of_main = fork_child([&] { end.await(); });
  PipeSignal forked;
  PipeSignal join;
  std::thread thread([&] {
    thread_id = current_thread_id();
    of_thread = fork_child([&] { end.await(); });
    forked.tell();
    join.await();
  });
  forked.await();
  for (const ChildFinder::Way way : {ChildFinder::Way::kFiles, ChildFinder::Way::kScan}) {
    if (way == ChildFinder::Way::kFiles && ChildFinder::best_way() != way) continue;
    const ChildFinder finder(way);
    EXPECT_THAT(finder.children_of(::getpid()), UnorderedElementsAre(of_main, of_thread));
    EXPECT_THAT(finder.children_of(of_main), IsEmpty());
  }
  const auto threads = read_thread_statuses(::getpid());
  EXPECT_TRUE(threads.contains(::getpid()) && threads.contains(thread_id));
  if (!kThreadSanitized) {  // ThreadSanitizer may have started a thread of its own
    EXPECT_EQ(threads.size(), 2U);
  }
  for (int i = 0; i < 2; ++i) end.tell();
  join.tell();
  thread.join();
  wait_for(of_main);
  wait_for(of_thread);
}

TEST(ProcessFiles, a_process_that_ignores_sigchld_is_recognized) {
  PipeSignal ready;
  PipeSignal end;
  ForkedServer process([&] {
    ::signal(SIGCHLD, SIG_IGN);
    ready.tell();
    end.await();
  });
  ready.await();
  EXPECT_TRUE(read_thread_statuses(process.pid()).at(process.pid()).ignores_children);
  EXPECT_FALSE(read_thread_statuses(::getpid()).at(::getpid()).ignores_children);
  end.tell();
}

}  // namespace
}  // namespace peal::load
