// SPDX-License-Identifier: BSD-3-Clause
// Rules about the CPU time and the memory that the control group (cgroup) allows, and about the machine's memory.
#include <cmath>

#include <fmt/format.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

constexpr std::string_view kGroups = "/proc/self/cgroup";
constexpr std::string_view kMemory = "/proc/meminfo";
// The approximate number of bytes that the kernel uses for an idle connection on loopback: the sockets, inodes and
// files of both ends.
constexpr uint64_t kKernelBytesPerPair = 8192;
constexpr uint64_t kMebibyte = 1 << 20;
constexpr uint64_t kEnoughBytes = 1024 * kMebibyte;
constexpr uint64_t kTooFewBytes = 256 * kMebibyte;

std::string grouped_bytes(uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / static_cast<double>(kMebibyte);
  return mebibytes < 1024 ? fmt::format("{:.0f} MiB", mebibytes) : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

std::string room_for(uint64_t bytes) {
  return fmt::format("Room for about {} idle connections with both ends here", grouped(bytes / kKernelBytesPerPair));
}

std::string lift(const GroupLimit& limit) {
  return fmt::format("echo {} | sudo tee {}", limit.is_v2 ? "max" : "-1", limit.path);
}

Judged cpu_time(const Machine& machine) {
  const GroupLimit quota = needed(machine.files.cpu_quota(), kGroups);
  if (std::isinf(quota.value)) return {.value = "none", .here = "Limits nothing."};
  const std::string value = fmt::format("{:.2f} CPUs", quota.value);
  const auto usable = usable_cpus(machine.files);
  if (quota.value >= (usable ? static_cast<double>(usable->size()) : 1)) {
    return {.value = value, .here = "Limits nothing: it grants all the CPUs that this process may use."};
  }
  const std::string folder = quota.path.substr(0, quota.path.find_last_of('/'));
  const auto held_back = machine.files.line_after(folder + "/cpu.stat", "nr_throttled");
  return {.value = value,
          .here = fmt::format("If server and generator need more, both stand still for up to 100 ms{}.",
                              held_back ? fmt::format(" ({} times so far)", *held_back) : ""),
          .health = quota.value < 1 ? Health::kBad : Health::kLimits,
          .mend = lift(quota)};
}

Judged memory(const Machine& machine) {
  const GroupLimit limit = needed(machine.files.memory_limit(), kGroups);
  if (std::isinf(limit.value)) return {.value = "none", .here = "Limits nothing beyond what the machine has."};
  const auto bytes = static_cast<uint64_t>(limit.value);
  return {.value = grouped_bytes(bytes),
          .here = fmt::format("{}, before any of them holds data.", room_for(bytes)),
          .health = rated(bytes, kEnoughBytes, kTooFewBytes),
          .mend = lift(limit)};
}

Judged available_memory(const Machine& machine) {
  const std::string line = needed(machine.files.line_after(kMemory, "MemAvailable:"), kMemory);
  const auto words = words_of(line);
  if (words.empty()) throw NotReadable(kMemory);
  const uint64_t bytes = 1024 * needed(parse_number(words.front()), kMemory);
  return {.value = grouped_bytes(bytes),
          .here = room_for(bytes) + '.',
          .health = rated(bytes, kEnoughBytes, kTooFewBytes),
          .mend = "ps aux --sort=-rss | head -n 10    # shows what uses it"};
}

Judged huge_pages(const Machine& machine) {
  constexpr std::string_view kPath = "/sys/kernel/mm/transparent_hugepage/enabled";
  const std::string all = needed(machine.files.text(kPath), kPath);
  const size_t open = all.find('[');
  const size_t close = all.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) throw NotReadable(kPath);
  const std::string value = all.substr(open + 1, close - open - 1);
  if (value != "always") {
    return {.value = value, .here = "Limits nothing: the memory per connection is what the program has asked for."};
  }
  return {.value = value,
          .here =
              "Memory grows in steps of 2 MiB: the measured memory per connection (RSS) is too high for any "
              "server.",
          .health = Health::kLimits,
          .mend = fmt::format("echo madvise | sudo tee {}", kPath)};
}

constexpr Rule kGroupRules[] = {
    {"cgroup CPU quota", "The CPU time that the cgroup may use.", cpu_time},
    {"cgroup memory limit", "The memory that the cgroup may use, including the kernel's memory for its sockets.",
     memory},
    {"memory available", "The memory that programs can get without swapping.", available_memory},
    {"transparent huge pages", "Whether programs get pages of 2 MiB without asking for them.", huge_pages},
};

}  // namespace

Findings examine_groups(const Machine& machine) { return findings_of(kGroupRules, "Quota and memory", machine); }

}  // namespace peal::cli
