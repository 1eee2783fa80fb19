// SPDX-License-Identifier: BSD-3-Clause
// What the kernel says of one process or thread: its CPU clock and, in the files under /proc/PID (proc(5)), its parent,
// its children, its threads and its memory. Any thread; no state.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/result.h>

namespace peal::load {

// The clock of the CPU time of all threads of a process. ESRCH: there is no such process.
Result<clockid_t> cpu_clock_of(int pid);
// What a CPU clock shows, in nanoseconds and not in ticks; nothing once its process is gone.
std::optional<Duration> cpu_time(clockid_t clock);

struct ProcessStat {
  int parent = 0;
  bool alive = false;       // no zombie
  uint64_t started = 0;     // with the pid this names a process for good: pids come back
  Duration children_cpu{};  // of those it has waited for, and theirs: in ticks of 10 ms, user and system apart
  uint64_t resident_bytes = 0;
};

// ESRCH: there is no such process. EACCES: there is, and /proc hides it (hidepid).
Result<ProcessStat> read_process_stat(int pid);

// Whether this word (NAME=VALUE) is in the environment that the process was started with. False where that may not be
// read, or the process has ended or written over it.
bool has_in_environment(int pid, std::string_view word);

struct ThreadStatus {
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  bool ignores_children = false;  // its process ignores SIGCHLD: the kernel forgets what its ended children used
};

// By thread id; those that still live.
std::unordered_map<int, ThreadStatus> read_thread_statuses(int pid);

// Who is whose child, at about one instant.
class ChildFinder {
 public:
  enum class Way : uint8_t {
    kFiles,  // /proc/PID/task/TID/children: quick, but not every kernel has it
    kScan,   // the parent of every process there is, read once
  };
  static Way best_way();

  explicit ChildFinder(Way way = best_way());
  // While children end, a file may leave out a sibling of theirs.
  std::vector<int> children_of(int pid) const;

 private:
  Way way_;
  std::unordered_multimap<int, int> children_;  // by parent
};

}  // namespace peal::load
