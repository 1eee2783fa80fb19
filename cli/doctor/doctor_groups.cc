// SPDX-License-Identifier: BSD-3-Clause
// What the control group grants: CPU time and memory.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

constexpr std::string_view kGroups = "/proc/self/cgroup";
constexpr std::string_view kMemory = "/proc/meminfo";
// What the kernel holds for both ends of an idle connection on loopback: sockets, inodes, files. About.
constexpr double kKernelBytesPerPair = 8192;
constexpr double kMebibyte = 1 << 20;

std::string grouped_bytes(double bytes) {
  return bytes < 1024 * kMebibyte ? fmt::format("{:.0f} MiB", bytes / kMebibyte)
                                  : fmt::format("{:.1f} GiB", bytes / 1024 / kMebibyte);
}

std::optional<size_t> cpus_usable(const MachineFiles& files) {
  const std::optional<std::string> line = files.line_after("/proc/self/status", "Cpus_allowed_list:");
  const auto cpus = line ? parse_list(*line) : std::nullopt;
  return cpus ? std::optional(cpus->size()) : std::nullopt;
}

Finding cpu_time(const Machine& machine) {
  Finding found{.name = "cgroup CPU quota", .what = "CPU time the group may use before it is held back."};
  const std::optional<GroupLimit> quota = machine.files.cpu_quota();
  if (!quota) return not_readable(std::move(found), kGroups);
  if (std::isinf(quota->value)) {
    found.value = "none";
    found.here = "Limits nothing.";
    return found;
  }
  found.value = fmt::format("{:.2f} CPUs", quota->value);
  const double usable = static_cast<double>(cpus_usable(machine.files).value_or(1));
  if (quota->value >= usable) {
    found.here = "Limits nothing: it grants all the CPUs that this process may use.";
    return found;
  }
  const std::string folder = quota->path.substr(0, quota->path.find_last_of('/'));
  const auto held_back = machine.files.line_after(folder + "/cpu.stat", "nr_throttled");
  found.health = quota->value < 1 ? Health::kBad : Health::kLimits;
  found.here = fmt::format("Busier than that, server and generator both stand still for up to 100 ms{}.",
                           held_back ? fmt::format(" ({} times so far)", *held_back) : "");
  found.mend = quota->is_v2 ? fmt::format("echo max | sudo tee {}", quota->path)
                            : fmt::format("echo -1 | sudo tee {}", quota->path);
  return found;
}

Finding memory(const Machine& machine) {
  Finding found{.name = "cgroup memory limit", .what = "Memory of the group, the kernel's share for sockets included."};
  const std::optional<GroupLimit> limit = machine.files.memory_limit();
  if (!limit) return not_readable(std::move(found), kGroups);
  if (std::isinf(limit->value)) {
    found.value = "none";
    found.here = "Limits nothing beyond what the machine has.";
    return found;
  }
  found.value = grouped_bytes(limit->value);
  found.here = fmt::format("Room for about {} idle connections with both ends here, before any of them holds data.",
                           grouped(static_cast<uint64_t>(limit->value / kKernelBytesPerPair)));
  if (limit->value >= 1024 * kMebibyte) return found;
  found.health = limit->value < 256 * kMebibyte ? Health::kBad : Health::kLimits;
  found.mend = limit->is_v2 ? fmt::format("echo max | sudo tee {}", limit->path)
                            : fmt::format("echo -1 | sudo tee {}", limit->path);
  return found;
}

Finding available_memory(const Machine& machine) {
  Finding found{.name = "memory available", .what = "What programs can have without swapping."};
  const std::optional<std::string> line = machine.files.line_after(kMemory, "MemAvailable:");
  const auto words = words_of(line ? *line : std::string_view());
  const auto kibibytes = words.empty() ? std::nullopt : parse_number(words.front());
  if (!kibibytes) return not_readable(std::move(found), kMemory);
  const double bytes = 1024 * static_cast<double>(*kibibytes);
  found.value = grouped_bytes(bytes);
  found.here = fmt::format("Room for about {} idle connections with both ends here.",
                           grouped(static_cast<uint64_t>(bytes / kKernelBytesPerPair)));
  if (bytes >= 1024 * kMebibyte) return found;
  found.health = bytes < 256 * kMebibyte ? Health::kBad : Health::kLimits;
  found.mend = "ps aux --sort=-rss | head -n 10    # shows who holds it";
  return found;
}

Finding huge_pages(const Machine& machine) {
  constexpr std::string_view kPath = "/sys/kernel/mm/transparent_hugepage/enabled";
  Finding found{.name = "transparent huge pages", .what = "Whether memory comes in pages of 2 MiB unasked."};
  const std::optional<std::string> all = machine.files.text(kPath);
  const size_t open = all ? all->find('[') : std::string::npos;
  const size_t close = all ? all->find(']') : std::string::npos;
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return not_readable(std::move(found), kPath);
  }
  found.value = all->substr(open + 1, close - open - 1);
  found.here = "Limits nothing: bytes a connection are what the program asked for.";
  if (found.value != "always") return found;
  found.health = Health::kLimits;
  found.here = "Memory grows in steps of 2 MiB: bytes a connection (RSS) come out too high for every contender.";
  found.mend = fmt::format("echo madvise | sudo tee {}", kPath);
  return found;
}

constexpr Rule kGroupRules[] = {cpu_time, memory, available_memory, huge_pages};

}  // namespace

Findings examine_groups(const Machine& machine) { return findings_of(kGroupRules, "Quota and memory", machine); }

}  // namespace peal::cli
