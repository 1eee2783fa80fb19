// SPDX-License-Identifier: BSD-3-Clause
// Rules about the number of fds that one process, and all processes together, may have open.
#include <algorithm>

#include <fmt/format.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

// The number of fds that a process needs besides its connections: for loops, listeners, logs and libraries.
constexpr uint64_t kFdsBeside = 200;
// The number of fds that the largest benchmark needs: `peal drum` with 10,000 socketpairs, which have two fds each.
constexpr uint64_t kFdsOfLargestRun = 20'000 + kFdsBeside;
constexpr uint64_t kComfortable = 1 << 20;
constexpr std::string_view kLimits = "/proc/self/limits";
constexpr std::string_view kProcessCeiling = "/proc/sys/fs/nr_open";

struct OpenFiles {
  uint64_t soft;
  uint64_t hard;
};

OpenFiles open_files(const Machine& machine) {
  const std::string line = needed(machine.files.line_after(kLimits, "Max open files"), kLimits);
  const auto words = words_of(line);
  if (words.size() < 2) throw NotReadable(kLimits);
  return {.soft = needed(parse_number(words[0]), kLimits), .hard = needed(parse_number(words[1]), kLimits)};
}

uint64_t without_own(uint64_t fds) { return fds - std::min(fds, kFdsBeside); }

Judged hard_limit(const Machine& machine) {
  const uint64_t limit = open_files(machine).hard;
  if (limit == kUnlimited) return {.value = raw(limit), .here = "Limits nothing: memory runs out before fds do."};
  const uint64_t free = without_own(limit);
  const Health health = rated(limit, kComfortable, kFdsOfLargestRun);
  const uint64_t most = machine.files.number(kProcessCeiling).value_or(kComfortable);
  return {.value = raw(limit),
          .here = fmt::format(
              "At most {} connections a process, or {} socketpairs (peal drum -n).{}", grouped(free), grouped(free / 2),
              health == Health::kBad ? " The largest runs of peal drum, with 10,000 socketpairs, do not fit." : ""),
          .health = health,
          .mend = fmt::format("sudo prlimit --pid $$ --nofile={}", std::max(limit, std::min(most, kComfortable)))};
}

Judged soft_limit(const Machine& machine) {
  const OpenFiles limit = open_files(machine);
  if (limit.soft >= std::min(limit.hard, kFdsOfLargestRun)) {
    return {.value = raw(limit.soft), .here = "Limits nothing: it is the hard limit, or enough for the largest runs."};
  }
  return {.value = raw(limit.soft),
          .here = fmt::format("peal raises it to the hard limit by itself. Other servers that are started here can "
                              "have only {} fds.",
                              grouped(limit.soft)),
          .health = Health::kLimits,
          .mend = fmt::format("ulimit -Sn {}", raw(limit.hard))};
}

Judged process_ceiling(const Machine& machine) {
  const uint64_t most = needed_number(machine, kProcessCeiling);
  return {.value = raw(most),
          .here = fmt::format("No process can hold more than {} connections.", grouped(without_own(most))),
          .health = rated(most, kComfortable, kFdsOfLargestRun),
          .mend = fmt::format("sudo sysctl -w fs.nr_open={}", kComfortable)};
}

Judged system_ceiling(const Machine& machine) {
  const uint64_t most = needed_number(machine, "/proc/sys/fs/file-max");
  const uint64_t used = needed_number(machine, "/proc/sys/fs/file-nr");
  const uint64_t free = most - std::min(most, used);
  return {.value = raw(most),
          .here = fmt::format("{} are in use. The rest is enough for {} connections with both ends here.",
                              grouped(used), grouped(free / 2)),
          .health = rated(free, 10 * kFdsOfLargestRun, 2 * kFdsOfLargestRun),
          .mend = fmt::format("sudo sysctl -w fs.file-max={}", used + 10 * kComfortable)};
}

constexpr Rule kDescriptorRules[] = {
    {"open files, hard (ulimit -Hn)", "The most fds to which a process can raise its own limit.", hard_limit},
    {"open files, soft (ulimit -Sn)", "The most fds of a process that does not raise its own limit.", soft_limit},
    {"fs.nr_open", "The highest possible hard limit, even for root.", process_ceiling},
    {"fs.file-max", "The most open files of all processes together.", system_ceiling},
};

}  // namespace

Findings examine_descriptors(const Machine& machine) {
  return findings_of(kDescriptorRules, "File descriptors", machine);
}

}  // namespace peal::cli
