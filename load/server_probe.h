// SPDX-License-Identifier: BSD-3-Clause
// What the kernel knows of a server, seen from outside: the CPU time, the memory and the context switches of a process
// and of all its descendants, so that servers which fork count in full. Any thread.
//
// The CPU time of a tree, at an instant, is the sum over its processes of
//   - its own clock: nanoseconds, of all its threads, those that have ended included; and
//   - what the children it has waited for had used (and theirs), which the kernel shows in ticks.
// A worker that ends moves from the first sum to its parent's part of the second when its parent waits for it. A look
// checks that nobody moved while it was looking, and else looks again: a worker is counted once, before and after. What
// a difference between two looks may be off by is the rounding of the second part, less than 2 ticks (20 ms) for each
// process that waits for children; it does not add up, however many end.
//
// Not known, and so not counted: what a child used after the last look that saw it, if its parent ignores SIGCHLD
// (ServerLook::forgets_children) or ended before it. Processes are remembered: one that was seen once still belongs to
// the server when its parent has ended and nothing ties them any more.
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

// Sums over the tree. Of two looks of one probe the later one never shows less CPU time or fewer switches.
struct ServerLook {
  TimePoint at;            // when the CPU clocks were read
  Duration cpu{};          // user and system
  uint64_t rss_bytes = 0;  // a page that several processes share counts in each
  // Of threads that have ended, what was seen of them: nobody but the kernel knows the rest.
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  size_t processes = 0;           // alive
  bool forgets_children = false;  // one of them has children and ignores SIGCHLD, now or at an earlier look
};

class ServerProbe {
 public:
  // ESRCH: there is no such process. EACCES: there is, and /proc hides it.
  static Result<ServerProbe> of(int pid);

  int pid() const { return pid_; }
  // Opens some 2 files a thread of the server, the CPU clocks first. ESRCH: the process is gone, its descendants may go
  // on; one that has ended and was not waited for is not gone. EACCES: a process of the tree is hidden.
  Result<ServerLook> look();

 private:
  struct Member {
    int pid;
    ProcessStat stat;
    Duration cpu{};  // its own
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
  // As the last look saw them; each stands behind its parent.
  std::vector<Member> members_;
  std::unordered_map<int, ThreadStatus> threads_;
  // Of those that are gone, as far as it is not in their parents'.
  Duration lost_cpu_{};
  ThreadStatus lost_switches_;
  Duration last_cpu_{};
  bool forgot_children_ = false;
};

}  // namespace peal::load
