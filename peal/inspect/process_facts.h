// SPDX-License-Identifier: BSD-3-Clause
// Reads what the kernel knows about a process and its threads (proc(5)), as plain values. The functions keep no state
// and may be called on any thread. Reading a process costs a few system calls, and so does each thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/result.h>

namespace peal {

struct ProcessFacts {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;     // the name that `ps -e` shows, at most 15 bytes
  std::string command;  // the command line, with spaces between the arguments; empty for kernel threads and zombies
  std::string state;    // "running", "sleeping", ...
  Duration user_cpu{};  // CPU time of all threads, in ticks of 10 ms
  Duration system_cpu{};
  uint64_t resident_bytes = 0;
  uint64_t peak_resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;  // page faults that waited for a disk
  uint32_t threads = 0;
  std::optional<uint32_t> open_fds;  // empty if the process belongs to another user
  std::optional<uint64_t> most_fds;  // empty if there is no limit, or the process belongs to another user
  std::chrono::system_clock::time_point started;
};

struct ThreadFacts {
  pid_t id = 0;
  std::string name;
  std::string state;
  Duration user_cpu{};  // CPU time, in ticks of 10 ms
  Duration system_cpu{};
  Duration kept_waiting{};  // time ready to run without a processor; 0 if the kernel does not count it
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  int processor = -1;  // the processor on which the thread ran last
};

// Returns the facts of a process. ESRCH: there is no such process.
Result<ProcessFacts> read_process_facts(pid_t pid);
// Returns the threads of a process, sorted by id. ESRCH: there is no such process.
Result<std::vector<ThreadFacts>> read_thread_facts(pid_t pid);

// Returns the content of a file, at most the first `most_bytes`. Suitable for files in /proc, whose size is not known
// before they are read. Fails with the errors of open(2) and read(2).
Result<std::string> read_small_file(const std::string& path, size_t most_bytes = 1 << 20);

}  // namespace peal
