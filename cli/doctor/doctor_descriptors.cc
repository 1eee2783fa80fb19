// SPDX-License-Identifier: BSD-3-Clause
// How many fds a process, and all of them together, may have open.
#include <algorithm>

#include <fmt/format.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

// Kept back for loops, listeners, logs and whatever the libraries open.
constexpr uint64_t kFdsBeside = 200;
// The largest runs of the lab hold 10,000 connections, and drum 10,000 socketpairs.
constexpr uint64_t kFdsOfLargestRun = 20'000 + kFdsBeside;
constexpr uint64_t kComfortable = 1 << 20;
constexpr std::string_view kLimits = "/proc/self/limits";

struct OpenFiles {
  uint64_t soft;
  uint64_t hard;
};

std::optional<OpenFiles> open_files(const MachineFiles& files) {
  const std::optional<std::string> line = files.line_after(kLimits, "Max open files");
  if (!line) return std::nullopt;
  const auto words = words_of(*line);
  if (words.size() < 2) return std::nullopt;
  const auto soft = parse_number(words[0]);
  const auto hard = parse_number(words[1]);
  return soft && hard ? std::optional(OpenFiles{*soft, *hard}) : std::nullopt;
}

uint64_t without_own(uint64_t fds) { return fds - std::min(fds, kFdsBeside); }

Finding hard_limit(const Machine& machine) {
  Finding found{.name = "open files, hard (ulimit -Hn)", .what = "Most fds a process may ask for."};
  const std::optional<OpenFiles> limit = open_files(machine.files);
  if (!limit) return not_readable(std::move(found), kLimits);
  found.value = raw(limit->hard);
  if (limit->hard == kUnlimited) {
    found.here = "Memory ends before fds do.";
    return found;
  }
  const uint64_t free = without_own(limit->hard);
  found.here = fmt::format("At most {} connections a process, or {} socketpairs (peal drum -n).", grouped(free),
                           grouped(free / 2));
  if (limit->hard >= kComfortable) return found;
  found.health = limit->hard < kFdsOfLargestRun ? Health::kBad : Health::kLimits;
  if (found.health == Health::kBad) found.here += " The lab's largest runs, of 10,000 pairs, stop before their end.";
  const uint64_t most = machine.files.number("/proc/sys/fs/nr_open").value_or(kComfortable);
  found.mend = fmt::format("sudo prlimit --pid $$ --nofile={}", std::max(limit->hard, std::min(most, kComfortable)));
  return found;
}

Finding soft_limit(const Machine& machine) {
  Finding found{.name = "open files, soft (ulimit -Sn)", .what = "Most fds a process has without asking."};
  const std::optional<OpenFiles> limit = open_files(machine.files);
  if (!limit) return not_readable(std::move(found), kLimits);
  found.value = raw(limit->soft);
  if (limit->soft >= std::min(limit->hard, kFdsOfLargestRun)) {
    found.here = "Limits nothing that the hard limit does not.";
    return found;
  }
  found.health = Health::kLimits;
  found.here = fmt::format("peal raises it to the hard limit by itself; another server started here keeps to {} fds.",
                           grouped(limit->soft));
  found.mend = limit->hard == kUnlimited ? "ulimit -Sn unlimited" : fmt::format("ulimit -Sn {}", limit->hard);
  return found;
}

Finding process_ceiling(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/fs/nr_open";
  Finding found{.name = "fs.nr_open", .what = "Ceiling of the hard limit, for root too."};
  const auto most = machine.files.number(kPath);
  if (!most) return not_readable(std::move(found), kPath);
  found.value = raw(*most);
  found.here = fmt::format("No process can hold more than {} connections.", grouped(without_own(*most)));
  if (*most >= kComfortable) return found;
  found.health = *most < kFdsOfLargestRun ? Health::kBad : Health::kLimits;
  found.mend = fmt::format("sudo sysctl -w fs.nr_open={}", kComfortable);
  return found;
}

Finding system_ceiling(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/fs/file-max";
  constexpr std::string_view kUsedPath = "/proc/sys/fs/file-nr";
  Finding found{.name = "fs.file-max", .what = "Most open files of all processes together."};
  const auto most = machine.files.number(kPath);
  if (!most) return not_readable(std::move(found), kPath);
  const auto used = machine.files.number(kUsedPath);
  if (!used) return not_readable(std::move(found), kUsedPath);
  found.value = raw(*most);
  const uint64_t free = *most - std::min(*most, *used);
  found.here =
      fmt::format("{} in use; {} connections with both ends here are left.", grouped(*used), grouped(free / 2));
  if (free >= 10 * kFdsOfLargestRun) return found;
  found.health = free < 2 * kFdsOfLargestRun ? Health::kBad : Health::kLimits;
  found.mend = fmt::format("sudo sysctl -w fs.file-max={}", *used + 10 * kComfortable);
  return found;
}

constexpr Rule kDescriptorRules[] = {hard_limit, soft_limit, process_ceiling, system_ceiling};

}  // namespace

Findings examine_descriptors(const Machine& machine) {
  return findings_of(kDescriptorRules, "File descriptors", machine);
}

}  // namespace peal::cli
