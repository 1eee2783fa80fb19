// SPDX-License-Identifier: BSD-3-Clause
// Reads what the kernel knows about a process. The CPU time comes from the CPU clock of the process. Parent, children,
// threads and memory come from the files under /proc/PID; see proc(5). The functions keep no state and can be called on
// any thread.
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

// Returns the clock that counts the CPU time of all threads of a process. Fails with ESRCH if there is no such process.
Result<clockid_t> cpu_clock_of(int pid);
// Returns the CPU time of a process with a resolution of 1 ns. `clock` is the CPU clock of the process, which
// cpu_clock_of() returns. Returns std::nullopt if the process no longer exists. This function does not read the files
// under /proc, because they give CPU times only in clock ticks of usually 10 ms.
std::optional<Duration> cpu_time(clockid_t clock);

struct ProcessStat {
  int parent = 0;
  bool alive = false;    // false for a zombie
  uint64_t started = 0;  // start time in clock ticks; tells apart processes that got the same pid one after the other
  // The CPU time of the ended children for which this process has waited. A child's CPU time includes that of its own
  // ended children. The file gives user time and system time as two numbers, each rounded down to clock ticks of
  // usually 10 ms. So the sum may be too low by less than two ticks.
  Duration children_cpu{};
  uint64_t resident_bytes = 0;
};

// Reads /proc/PID/stat. Fails with
// - ESRCH if there is no such process,
// - EACCES if the mount option hidepid hides the process from this user,
// - EMFILE or ENFILE if no more files can be opened.
Result<ProcessStat> read_process_stat(int pid);

// Returns true if the program of the process was started with the environment variable `word`, which has the form
// NAME=VALUE. Returns false if the program was started without `word`, or if its environment cannot be read. The result
// may be wrong if the process has overwritten the memory of its first environment, because the kernel reads this
// memory.
bool has_in_environment(int pid, std::string_view word);

struct ThreadStatus {
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  // True if the process ignores SIGCHLD. The kernel then discards the CPU time of its children when they end.
  bool ignores_children = false;
};

// Returns the status of each thread of a process. The keys of the map are thread ids. The map is empty if there is no
// such process.
std::unordered_map<int, ThreadStatus> read_thread_statuses(int pid);

// Finds the children of a process. With Way::kFiles, children_of() reads the files of the process at each call. With
// Way::kScan, the constructor reads the list of all processes, and children_of() searches this list. So with
// Way::kScan, the answers are as old as the ChildFinder.
class ChildFinder {
 public:
  enum class Way : uint8_t {
    kFiles,  // reads /proc/PID/task/TID/children; fast, but some kernels do not have these files
    kScan,   // reads the parent of every process from /proc, once, in the constructor
  };
  static Way best_way();

  explicit ChildFinder(Way way = best_way());
  // Returns the pids of all children of `pid`. With Way::kFiles, some children may be missing if one child ends during
  // the call. The reason is that the kernel walks through its list of children by position, and the end of a child
  // moves the later children.
  std::vector<int> children_of(int pid) const;

 private:
  Way way_;
  std::unordered_multimap<int, int> children_;  // used with kScan; key: the parent's pid, value: a child's pid
};

}  // namespace peal::load
