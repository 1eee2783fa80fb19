// SPDX-License-Identifier: BSD-3-Clause
#include <load/server_probe.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace peal::load {
namespace {

void add_switches(const std::filesystem::path& status, ProcessLook& look) {
  std::ifstream file(status);
  for (std::string key; file >> key;) {
    uint64_t value = 0;
    if (key == "voluntary_ctxt_switches:" && file >> value) look.voluntary_switches += value;
    if (key == "nonvoluntary_ctxt_switches:" && file >> value) look.involuntary_switches += value;
  }
}

}  // namespace

Result<clockid_t> cpu_clock_of(int pid) {
  clockid_t clock{};
  if (const int error = ::clock_getcpuclockid(pid, &clock); error != 0) return fail(error);
  return clock;
}

std::optional<Duration> cpu_time(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::optional<ProcessLook> look_at_process(int pid) {
  const std::filesystem::path process = fmt::format("/proc/{}", pid);
  ProcessLook look;
  uint64_t pages_of_all = 0;
  uint64_t resident_pages = 0;
  std::ifstream memory(process / "statm");
  if (!(memory >> pages_of_all >> resident_pages)) return std::nullopt;
  look.rss_bytes = resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::error_code error;
  for (std::filesystem::directory_iterator task(process / "task", error), end; !error && task != end;
       task.increment(error)) {
    add_switches(task->path() / "status", look);
  }
  return look;
}

}  // namespace peal::load
