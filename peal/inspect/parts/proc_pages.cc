// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/proc_pages.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <peal/inspect/parts/snapshot.h>
#include <peal/inspect/process_facts.h>

namespace peal::detail {
namespace {

// Returns the text of a file, or a line that says why it cannot be read.
std::string file_text(const char* path) {
  Result<std::string> text = read_small_file(path);
  return text ? std::move(*text) : fmt::format("{}: {}\n", path, text.error().message());
}

std::string process_overview() {
  const ProcessFacts facts = read_process_facts(::getpid()).value_or(ProcessFacts());
  const auto up = std::chrono::system_clock::now() - facts.started;
  std::string text = fmt::format(
      "{} ({})\nstarted {:%Y-%m-%d %H:%M:%S} UTC, up {:.0f} s\ncpu {:.2f} s user, {:.2f} s system\n"
      "memory {} bytes resident (peak {}), {} bytes virtual\nfaults {} minor, {} major\nthreads {}\n",
      facts.command, facts.pid, fmt::gmtime(std::chrono::system_clock::to_time_t(facts.started)),
      std::chrono::duration<double>(up).count(), in_seconds(facts.user_cpu), in_seconds(facts.system_cpu),
      facts.resident_bytes, facts.peak_resident_bytes, facts.virtual_bytes, facts.minor_faults, facts.major_faults,
      facts.threads);
  if (facts.open_fds) text += fmt::format("open files {}\n", *facts.open_fds);
  if (facts.most_fds) text += fmt::format("open files, at most {}\n", *facts.most_fds);
  return text;
}

std::string process_threads() {
  std::string text = fmt::format("{:>8} {:<15} {:<18} {:>10} {:>10} {:>12} {:>12} {:>3}\n", "TID", "NAME", "STATE",
                                 "USER s", "SYSTEM s", "VOLUNTARY", "INVOLUNTARY", "CPU");
  for (const ThreadFacts& thread : read_thread_facts(::getpid()).value_or(std::vector<ThreadFacts>())) {
    text += fmt::format("{:>8} {:<15} {:<18} {:>10.2f} {:>10.2f} {:>12} {:>12} {:>3}\n", thread.id, thread.name,
                        thread.state, in_seconds(thread.user_cpu), in_seconds(thread.system_cpu),
                        thread.voluntary_switches, thread.involuntary_switches, thread.processor);
  }
  return text;
}

std::string opened_files() {
  std::error_code error;
  std::vector<std::pair<int, std::string>> files;
  for (auto each = std::filesystem::directory_iterator("/proc/self/fd", error);
       each != std::filesystem::directory_iterator(); each.increment(error)) {
    std::error_code unreadable;  // set for the folder's own fd, which is closed when this walk ends
    const std::string target = std::filesystem::read_symlink(each->path(), unreadable).string();
    if (!unreadable) files.emplace_back(std::stoi(each->path().filename().string()), target);
  }
  std::ranges::sort(files);
  std::string text = fmt::format("{} open files\n", files.size());
  for (const auto& [number, target] : files) text += fmt::format("{:>6} {}\n", number, target);
  return text;
}

std::string system_overview() {
  const SystemFacts facts = read_system_facts();
  return fmt::format(
      "{}\n{}\nup {:.0f} s\n{} processors, load {:.2f} {:.2f} {:.2f}\nmemory {} bytes, {} of them available\n",
      facts.host, facts.kernel, in_seconds(facts.up), facts.processors, facts.load[0], facts.load[1], facts.load[2],
      facts.memory_bytes, facts.available_bytes);
}

constexpr ProcPage kPages[] = {
    {"/proc/overview", "summary of this process", process_overview},
    {"/proc/pid", "id of this process", [] { return fmt::format("{}\n", ::getpid()); }},
    {"/proc/status", "/proc/self/status", [] { return file_text("/proc/self/status"); }},
    {"/proc/limits", "/proc/self/limits", [] { return file_text("/proc/self/limits"); }},
    {"/proc/opened_files", "open file descriptors", opened_files},
    {"/proc/threads", "threads of this process", process_threads},
    {"/sys/overview", "summary of this machine", system_overview},
    {"/sys/loadavg", "/proc/loadavg", [] { return file_text("/proc/loadavg"); }},
    {"/sys/version", "/proc/version", [] { return file_text("/proc/version"); }},
    {"/sys/cpuinfo", "/proc/cpuinfo", [] { return file_text("/proc/cpuinfo"); }},
    {"/sys/meminfo", "/proc/meminfo", [] { return file_text("/proc/meminfo"); }},
    {"/sys/stat", "/proc/stat", [] { return file_text("/proc/stat"); }},
};

}  // namespace

std::span<const ProcPage> proc_pages() { return kPages; }

}  // namespace peal::detail
