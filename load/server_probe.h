// SPDX-License-Identifier: BSD-3-Clause
// Measures a server process together with all its descendants, from outside. It measures CPU time, memory and context
// switches. A probe can be used on any thread, but only by one thread at a time.
//
// The CPU time is a sum over the server process and its descendants. Two times count for each process:
// - The time on its own CPU clock, in nanoseconds. It includes all its threads, even those that have ended.
// - The CPU time of the ended children it has waited for, and of their ended children. The kernel gives this time in
//   clock ticks.
//
// When a parent waits for an ended child, the kernel adds the child's time to the second time of the parent, and the
// child's own clock disappears. look() checks that this did not happen while it was reading, and otherwise reads again.
// So each process is counted once. Because of the clock ticks, the difference between two measurements may be wrong by
// less than 2 ticks (20 ms) for each process that waits for children. This error does not grow with the number of ended
// children.
//
// The time that a process used after the last measurement is lost in two cases: its parent ignores SIGCHLD
// (ServerLook::forgets_children), or its parent has ended earlier than the process itself. The probe remembers all
// processes that it has seen. So a process still counts after its parent has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <load/process_files.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>

namespace peal::load {

// The result of one measurement. The numbers are sums over the server process and all its descendants. `cpu` and the
// counts of context switches never decrease from one measurement to the next. The reason: what ended processes and
// threads have used, as far as it was measured, still counts.
struct ServerLook {
  TimePoint at;            // when the CPU clocks were read
  Duration cpu{};          // user and system time
  uint64_t rss_bytes = 0;  // a page that several processes share counts once for each of them
  // Counts of context switches, summed over all threads. A thread that has ended still counts, with its values from the
  // last measurement before its end. Its switches after that measurement are not known.
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  size_t processes = 0;           // processes that have not ended
  bool forgets_children = false;  // true if, now or earlier, a process with children ignored SIGCHLD
};

class ServerProbe {
 public:
  // Makes a probe that measures the process `pid` and its descendants. Fails with ESRCH if there is no such process.
  // Fails with EACCES if /proc hides the process from this user.
  static Result<ServerProbe> of(int pid);

  int pid() const { return pid_; }
  // Measures the process and its descendants now. Opens about two files for each thread of the server. Fails with
  // - ESRCH if the process no longer exists, even if descendants still run,
  // - EACCES if /proc hides one of the processes from this user (mount option hidepid),
  // - EMFILE or ENFILE if no more files can be opened.
  // An ended process still exists until its parent has waited for it.
  Result<ServerLook> look();

 private:
  struct Member {
    int pid;
    ProcessStat stat;
    Duration cpu{};  // time on the CPU clock of this process
    bool forgets_children = false;
    bool gone = false;
  };

  ServerProbe(int pid, uint64_t started) : pid_(pid), started_(started) {}
  Result<std::vector<Member>> list() const;
  static Result<void> list_below(const Member& top, const ChildFinder& finder, std::vector<Member>& tree,
                                 std::unordered_set<int>& listed);
  static bool read_cpu(std::vector<Member>& tree, TimePoint& at);
  static Duration lost_between(const std::vector<Member>& before, const std::vector<Member>& after);
  void count_switches(ServerLook& look);

  int pid_;
  uint64_t started_;
  // The processes that the last call of look() has found. A parent comes before its children.
  std::vector<Member> members_;
  std::unordered_map<int, ThreadStatus> threads_;
  // The sum of the last measured CPU times of processes that no longer exist. When a parent waits for an ended child,
  // the kernel adds the child's CPU time to the time of the parent. If an ended process counts in an ancestor in this
  // way, its CPU time is not included here, because it would count twice.
  Duration lost_cpu_{};
  ThreadStatus lost_switches_;
  Duration last_cpu_{};
  bool forgot_children_ = false;
};

}  // namespace peal::load
