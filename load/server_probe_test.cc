// SPDX-License-Identifier: BSD-3-Clause
#include <load/server_probe.h>

#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

#include <gtest/gtest.h>

#include <load/forked_server.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;

constexpr Duration kBurn = 100ms;
// Tolerance for the CPU time of ended children. The kernel rounds their user time and their system time down to ticks
// of 10 ms.
constexpr Duration kTicks = 20ms;
// Tolerance for the CPU time of the ended server. wait4() gives user time and system time in whole microseconds.
constexpr Duration kCutOff = std::chrono::microseconds(2);

ServerLook look_at(ServerProbe& probe) {
  Result<ServerLook> look = probe.look();
  EXPECT_TRUE(look) << look.error().message();
  return look.value_or(ServerLook{});
}

TEST(ServerProbe, a_server_without_children_is_measured_in_nanoseconds) {
  PipeSignal go;
  PipeSignal burnt;
  ForkedServer server([&] {
    for (int i = 0; i < 3; ++i) {
      go.await();
      burn(kBurn / 10);
      burnt.tell(cpu_time(CLOCK_PROCESS_CPUTIME_ID)->count());
    }
  });
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  go.tell();
  const Duration first(burnt.await());
  const ServerLook before = look_at(probe);
  go.tell();
  const Duration second(burnt.await());
  const ServerLook after = look_at(probe);
  go.tell();
  const Duration third(burnt.await());
  EXPECT_GE(before.cpu, first);
  EXPECT_LE(before.cpu, second - kBurn / 10);
  EXPECT_GE(after.cpu, second);
  EXPECT_LE(after.cpu, third - kBurn / 10);
  EXPECT_GE(after.at, before.at);
  EXPECT_EQ(after.processes, 1U);
  EXPECT_FALSE(after.forgets_children);
}

TEST(ServerProbe, a_child_that_burns_to_its_exit_counts_once) {
  PipeSignal started;
  PipeSignal go;
  PipeSignal reaped;
  PipeSignal end;
  ForkedServer server([&] {
    const int child = fork_child([&] {
      go.await();
      burn(kBurn);
    });
    started.tell();
    wait_for(child);
    reaped.tell();
    end.await();
  });
  started.await();
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  const ServerLook before = look_at(probe);
  EXPECT_EQ(before.processes, 2U);
  go.tell();
  reaped.await();
  const ServerLook after = look_at(probe);
  EXPECT_EQ(after.processes, 1U);
  EXPECT_GE(after.cpu - before.cpu, kBurn - kTicks);
  end.tell();
  EXPECT_LE(after.cpu, server.finish() + kCutOff);
}

TEST(ServerProbe, what_a_worker_used_before_it_died_is_neither_lost_nor_doubled) {
  PipeSignal burnt;
  PipeSignal go;
  PipeSignal died;
  PipeSignal wait;
  PipeSignal reaped;
  PipeSignal end;
  ForkedServer server([&] {
    const int child = fork_child([&] {
      burn(kBurn);
      burnt.tell();
      go.await();
    });
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    died.tell();
    wait.await();
    wait_for(child);
    reaped.tell();
    end.await();
  });
  burnt.await();
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  const ServerLook alive = look_at(probe);
  EXPECT_GE(alive.cpu, kBurn);
  go.tell();
  died.await();
  const ServerLook zombie = look_at(probe);
  EXPECT_EQ(zombie.processes, 1U);
  EXPECT_GE(zombie.cpu, alive.cpu);
  wait.tell();
  reaped.await();
  const ServerLook after = look_at(probe);
  EXPECT_GE(after.cpu, zombie.cpu);
  end.tell();
  EXPECT_LE(after.cpu, server.finish() + kCutOff);
}

TEST(ServerProbe, a_grandchild_and_its_parent_end_one_after_the_other) {
  PipeSignal burnt;
  PipeSignal go;
  PipeSignal middle_alone;
  PipeSignal end_middle;
  PipeSignal alone;
  PipeSignal end;
  ForkedServer server([&] {
    const int middle = fork_child([&] {
      const int grandchild = fork_child([&] {
        burn(kBurn);
        burnt.tell();
        go.await();
      });
      wait_for(grandchild);
      middle_alone.tell();
      end_middle.await();
    });
    wait_for(middle);
    alone.tell();
    end.await();
  });
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  burnt.await();
  const ServerLook all = look_at(probe);
  EXPECT_EQ(all.processes, 3U);
  EXPECT_GE(all.cpu, kBurn);
  go.tell();
  middle_alone.await();
  const ServerLook two = look_at(probe);
  EXPECT_EQ(two.processes, 2U);
  EXPECT_GE(two.cpu, all.cpu);
  end_middle.tell();
  alone.await();
  const ServerLook one = look_at(probe);
  EXPECT_EQ(one.processes, 1U);
  EXPECT_GE(one.cpu, two.cpu);
  end.tell();
  EXPECT_LE(one.cpu, server.finish() + kCutOff);
}

TEST(ServerProbe, workers_that_come_and_go_while_it_looks) {
  PipeSignal go;
  PipeSignal done;
  PipeSignal end;
  ForkedServer server([&] {
    go.await();
    for (int i = 0; i < 100; ++i) wait_for(fork_child([] { burn(kBurn / 100); }));
    done.tell();
    end.await();
  });
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  const ServerLook before = look_at(probe);
  go.tell();
  ServerLook during = before;
  pollfd finished{.fd = done.read_end(), .events = POLLIN, .revents = 0};
  while (::poll(&finished, 1, 0) == 0) {
    const ServerLook now = look_at(probe);
    EXPECT_GE(now.cpu, during.cpu);
    EXPECT_GE(now.voluntary_switches, during.voluntary_switches);
    EXPECT_GE(now.involuntary_switches, during.involuntary_switches);
    during = now;
  }
  const ServerLook after = look_at(probe);
  EXPECT_GE(after.cpu - before.cpu, kBurn - kTicks);
  end.tell();
  EXPECT_LE(after.cpu, server.finish() + kCutOff);
}

TEST(ServerProbe, a_worker_whose_parent_has_ended_still_belongs_to_the_server) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  PipeSignal started;
  PipeSignal end_middle;
  PipeSignal middle_ended;
  PipeSignal go;
  PipeSignal burnt;
  PipeSignal end_orphan;
  PipeSignal end;
  ForkedServer server([&] {
    const int middle = fork_child([&] {
      started.tell(fork_child([&] {
        go.await();
        burn(kBurn);
        burnt.tell();
        end_orphan.await();
      }));
      end_middle.await();
    });
    wait_for(middle);
    middle_ended.tell();
    end.await();
  });
  const int orphan = static_cast<int>(started.await());
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  const ServerLook before = look_at(probe);
  end_middle.tell();
  middle_ended.await();
  go.tell();
  burnt.await();
  const ServerLook orphaned = look_at(probe);
  EXPECT_EQ(orphaned.processes, 2U);
  EXPECT_GE(orphaned.cpu - before.cpu, kBurn - kTicks);
  end_orphan.tell();
  wait_for(orphan);
  const ServerLook after = look_at(probe);
  EXPECT_EQ(after.processes, 1U);
  EXPECT_GE(after.cpu, orphaned.cpu);
  end.tell();
  server.finish();
  EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST(ServerProbe, a_server_that_ignores_sigchld_is_reported) {
  PipeSignal burnt;
  PipeSignal go;
  PipeSignal ended;
  PipeSignal end;
  ForkedServer server([&] {
    ::signal(SIGCHLD, SIG_IGN);
    const int child = fork_child([&] {
      burn(kBurn);
      burnt.tell();
      go.await();
    });
    ::waitpid(child, nullptr, 0);  // waits until the child has ended, and then fails with ECHILD
    ended.tell();
    end.await();
  });
  burnt.await();
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  const ServerLook before = look_at(probe);
  EXPECT_TRUE(before.forgets_children);
  EXPECT_GE(before.cpu, kBurn);
  go.tell();
  ended.await();
  const ServerLook after = look_at(probe);
  EXPECT_EQ(after.processes, 1U);
  EXPECT_GE(after.cpu, before.cpu);
  EXPECT_TRUE(after.forgets_children);
  end.tell();
}

TEST(ServerProbe, switches_of_all_processes_are_what_the_kernel_counts) {
  const auto switches = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_nvcsw;
  };
  PipeSignal go;
  PipeSignal switched;
  PipeSignal end;
  ForkedServer server([&] {
    const int child = fork_child([&] {
      for (int i = 0; i < 2; ++i) {
        go.await();
        for (int blocked = 0; blocked < 20; ++blocked) wait_for(fork_child([] {}));
        switched.tell(switches());
      }
      end.await();
    });
    wait_for(child);
  });
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  go.tell();
  const auto first = static_cast<uint64_t>(switched.await());
  const ServerLook before = look_at(probe);
  EXPECT_GT(first, 0U);
  EXPECT_GE(before.voluntary_switches, first);
  go.tell();
  const auto second = static_cast<uint64_t>(switched.await());
  const ServerLook after = look_at(probe);
  // The two counts may differ by one switch. The child also blocks while it waits for the test's next command, and one
  // of the counts may not include this.
  EXPECT_GE(after.voluntary_switches - before.voluntary_switches + 1, second - first);
  end.tell();
}

TEST(ServerProbe, shared_memory_counts_in_each_process) {
  constexpr size_t kBytes = size_t{32} << 20;
  PipeSignal filled;
  PipeSignal fork_now;
  PipeSignal forked;
  PipeSignal end;
  ForkedServer server([&] {
    void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(memory, 1, kBytes);
    filled.tell();
    fork_now.await();
    const int child = fork_child([&] { end.await(); });
    forked.tell();
    wait_for(child);
  });
  filled.await();
  ServerProbe probe = ServerProbe::of(server.pid()).value();
  const ServerLook one = look_at(probe);
  EXPECT_GE(one.rss_bytes, kBytes);
  fork_now.tell();
  forked.await();
  const ServerLook two = look_at(probe);
  EXPECT_GE(two.rss_bytes, 2 * kBytes);
  end.tell();
}

TEST(ServerProbe, a_server_that_is_gone) {
  PipeSignal end;
  ForkedServer server([&] { end.await(); });
  const int pid = server.pid();
  ServerProbe probe = ServerProbe::of(pid).value();
  end.tell();
  server.finish();
  EXPECT_EQ(probe.look().error(), errno_code(ESRCH));
  EXPECT_EQ(probe.look().error(), errno_code(ESRCH));
  for (const int nobody : {pid, 0, -1}) EXPECT_EQ(ServerProbe::of(nobody).error(), errno_code(ESRCH));
}

TEST(ServerProbe, a_server_that_proc_hides) {
  PipeSignal answer;
  const int hidden = ::getpid();
  ForkedServer stranger([&] {
    const bool set = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                     ::mount("proc", "/proc", "proc", 0, "hidepid=2") == 0 && ::setgroups(0, nullptr) == 0 &&
                     ::setgid(65'534) == 0 && ::setuid(65'534) == 0;
    const Result<ServerProbe> probe = ServerProbe::of(hidden);
    answer.tell(!set ? -1 : probe ? 0 : probe.error().value());
  });
  const int64_t error = answer.await();
  stranger.finish();
  if (error < 0) GTEST_SKIP() << "only root may mount /proc again";
  EXPECT_EQ(error, EACCES);
}

}  // namespace
}  // namespace peal::load
