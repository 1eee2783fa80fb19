// SPDX-License-Identifier: BSD-3-Clause
// What the kernel knows of the CPU time of threads and processes, and of the memory and context switches of a server.
// Any thread; no state.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>

#include <peal/base/clock.h>
#include <peal/base/result.h>

namespace peal::load {

// The clock of the CPU time of all threads of a process. ESRCH: there is no such process.
Result<clockid_t> cpu_clock_of(int pid);
// What a CPU clock shows, in nanoseconds and not in ticks; nothing once its process is gone.
std::optional<Duration> cpu_time(clockid_t clock);

struct ProcessLook {
  uint64_t rss_bytes = 0;
  uint64_t voluntary_switches = 0;  // of all its threads that still live
  uint64_t involuntary_switches = 0;
};

// Nothing when the process is gone.
std::optional<ProcessLook> look_at_process(int pid);

}  // namespace peal::load
