// SPDX-License-Identifier: BSD-3-Clause
// What the kernel says of a process and its threads (proc(5)), as plain values. Any thread; no state. Reading costs a
// few system calls, for threads a few each.
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
  std::string name;     // as `ps -e` shows it: 15 bytes
  std::string command;  // with its arguments, between spaces; empty for a kernel's thread and a zombie
  std::string state;    // "running", "sleeping", ...
  Duration user_cpu{};  // of all its threads, in ticks of 10 ms
  Duration system_cpu{};
  uint64_t resident_bytes = 0;
  uint64_t peak_resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;  // those that waited for a disk
  uint32_t threads = 0;
  std::optional<uint32_t> open_fds;  // none: it is another user's
  std::optional<uint64_t> most_fds;  // none: no limit, or another user's
  std::chrono::system_clock::time_point started;
};

struct ThreadFacts {
  pid_t id = 0;
  std::string name;
  std::string state;
  Duration user_cpu{};  // in ticks of 10 ms
  Duration system_cpu{};
  Duration kept_waiting{};  // was ready to run and had no processor; 0 where the kernel does not count it
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  int processor = -1;  // where it ran last
};

// ESRCH: there is no such process.
Result<ProcessFacts> read_process_facts(pid_t pid);
// By id. ESRCH: there is no such process.
Result<std::vector<ThreadFacts>> read_thread_facts(pid_t pid);

// The whole of a file whose size nobody knows, as those in /proc are; at most `most_bytes`. errno's errors.
Result<std::string> read_small_file(const std::string& path, size_t most_bytes = 1 << 20);

}  // namespace peal
