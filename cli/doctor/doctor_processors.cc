// SPDX-License-Identifier: BSD-3-Clause
// The CPUs: how many, how fast, and who else runs on them.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

constexpr std::string_view kCpus = "/sys/devices/system/cpu";
constexpr std::string_view kStatus = "/proc/self/status";
constexpr std::string_view kStat = "/proc/stat";
constexpr double kStealGate = 0.01;  // the lab marks a run NOISY above it
constexpr double kBusyGate = 0.10;   // of one core, the same

std::string cpu_file(uint32_t cpu, std::string_view name) { return fmt::format("{}/cpu{}/{}", kCpus, cpu, name); }

std::optional<std::vector<uint32_t>> usable_cpus(const MachineFiles& files) {
  const std::optional<std::string> line = files.line_after(kStatus, "Cpus_allowed_list:");
  return line ? parse_list(*line) : std::nullopt;
}

std::optional<std::vector<uint32_t>> online_cpus(const MachineFiles& files) {
  return files.list(fmt::format("{}/online", kCpus));
}

Finding usable(const Machine& machine) {
  Finding found{.name = "CPUs usable of those online", .what = "Where the scheduler may put this process (affinity)."};
  const auto cpus = usable_cpus(machine.files);
  if (!cpus) return not_readable(std::move(found), kStatus);
  const auto online = online_cpus(machine.files);
  if (!online) return not_readable(std::move(found), fmt::format("{}/online", kCpus));
  found.value = fmt::format("{} of {}", cpus->size(), online->size());
  if (cpus->size() < 2) {
    found.health = Health::kBad;
    found.here = "Server and generator take turns on one CPU: figures show the scheduler, not the server.";
  } else {
    found.here =
        fmt::format("{} loops at most, half of them the server's when the generator runs here too.", cpus->size());
    if (cpus->size() < online->size()) found.health = Health::kLimits;
  }
  if (online->size() > cpus->size()) {
    found.mend = fmt::format("taskset -pc {}-{} $$", online->front(), online->back());
  } else if (found.health == Health::kBad) {
    found.mend = "none here: a machine with two or more CPUs";
  }
  return found;
}

Finding siblings(const Machine& machine) {
  const std::string control = fmt::format("{}/smt/active", kCpus);
  Finding found{.name = "SMT siblings", .what = "CPUs that share a core."};
  const auto active = machine.files.number(control);
  if (!active) return not_readable(std::move(found), control);
  if (*active == 0) {
    found.value = "off";
    found.here = "Every CPU is a core of its own, as far as this machine shows.";
    return found;
  }
  std::set<std::string> cores;
  for (uint32_t cpu : online_cpus(machine.files).value_or(std::vector<uint32_t>())) {
    cores.insert(machine.files.text(cpu_file(cpu, "topology/thread_siblings_list")).value_or(""));
  }
  cores.erase("");
  if (cores.empty()) return not_readable(std::move(found), cpu_file(0, "topology/thread_siblings_list"));
  found.value = fmt::format("on, {} cores", cores.size());
  found.health = Health::kLimits;
  found.here = fmt::format("CPUs {} are one core: a generator there slows its sibling's server.", *cores.begin());
  found.mend = fmt::format("echo off | sudo tee {}/smt/control", kCpus);
  return found;
}

Finding governor(const Machine& machine) {
  constexpr std::string_view kFile = "cpufreq/scaling_governor";
  Finding found{.name = "CPU governor", .what = "Who chooses the clock rate."};
  std::set<std::string> names;
  for (uint32_t cpu : online_cpus(machine.files).value_or(std::vector<uint32_t>())) {
    if (auto name = machine.files.text(cpu_file(cpu, kFile))) names.insert(*name);
  }
  if (names.empty()) return not_readable(std::move(found), cpu_file(0, kFile));
  found.value = fmt::format("{}", fmt::join(names, ", "));
  if (names == std::set<std::string>{"performance"}) {
    found.here = "Limits nothing: the clock does not wait for load.";
    return found;
  }
  found.health = Health::kLimits;
  found.here = "At a low rate the clock drops: latency rises and CPU time a message with it.";
  found.mend = "sudo cpupower frequency-set -g performance";
  return found;
}

Finding turbo(const Machine& machine) {
  const std::string intel = fmt::format("{}/intel_pstate/no_turbo", kCpus);
  const std::string other = fmt::format("{}/cpufreq/boost", kCpus);
  Finding found{.name = "turbo", .what = "Clock above the nominal one while few cores are busy and cool."};
  const auto no_turbo = machine.files.number(intel);
  const auto boost = machine.files.number(other);
  if (!no_turbo && !boost) return not_readable(std::move(found), other);
  const bool on = no_turbo ? *no_turbo == 0 : *boost != 0;
  found.value = on ? "on" : "off";
  if (!on) {
    found.here = "Limits nothing: runs one after another have the same clock.";
    return found;
  }
  found.health = Health::kLimits;
  found.here = "Two runs may differ by the clock alone: compare only interleaved repeats.";
  found.mend = no_turbo ? fmt::format("echo 1 | sudo tee {}", intel) : fmt::format("echo 0 | sudo tee {}", other);
  return found;
}

Finding frequency(const Machine& machine) {
  constexpr std::string_view kNow = "cpufreq/scaling_cur_freq";
  constexpr std::string_view kMost = "cpufreq/cpuinfo_max_freq";
  Finding found{.name = "CPU frequency", .what = "Slowest CPU now, and the fastest it could be."};
  std::optional<uint64_t> now;
  uint64_t most = 0;
  for (uint32_t cpu : online_cpus(machine.files).value_or(std::vector<uint32_t>())) {
    const auto current = machine.files.number(cpu_file(cpu, kNow));
    const auto highest = machine.files.number(cpu_file(cpu, kMost));
    if (!current || !highest) continue;
    now = std::min(now.value_or(*current), *current);
    most = std::max(most, *highest);
  }
  if (!now) return not_readable(std::move(found), cpu_file(0, kNow));
  found.value = fmt::format("{:.2f} of {:.2f} GHz", static_cast<double>(*now) / 1e6, static_cast<double>(most) / 1e6);
  found.here = "Limits nothing now.";
  if (*now * 10 >= most * 8) return found;
  found.health = Health::kLimits;
  found.here = "Absolute times are longer than this machine's best; ratios hold when the clock is steady.";
  found.mend = fmt::format("sudo cpupower frequency-set -d {}", most);
  return found;
}

Finding stolen_since_boot(const Machine& machine) {
  Finding found{.name = "steal since boot", .what = "Time the hypervisor ran somebody else instead."};
  if (!machine.before || machine.before->total() == 0) return not_readable(std::move(found), kStat);
  const double share = static_cast<double>(machine.before->stolen) / static_cast<double>(machine.before->total());
  found.value = fmt::format("{:.2f} %", 100 * share);
  found.here = fmt::format("Runs with more than {:.0f} % are marked NOISY.", 100 * kStealGate);
  if (share <= kStealGate) return found;
  found.health = Health::kLimits;
  found.mend = "none here: a host with CPUs of its own";
  return found;
}

Finding stolen_now(const Machine& machine) {
  Finding found{.name = "steal now", .what = "The same, over a short look."};
  if (!machine.before || !machine.after || machine.after->total() <= machine.before->total()) {
    return not_readable(std::move(found), kStat);
  }
  const auto elapsed = static_cast<double>(machine.after->total() - machine.before->total());
  const double share = static_cast<double>(machine.after->stolen - machine.before->stolen) / elapsed;
  found.value = fmt::format("{:.2f} %", 100 * share);
  found.here = share <= kStealGate ? "Limits nothing now." : "A run started now would be marked NOISY.";
  if (share <= kStealGate) return found;
  found.health = share > 10 * kStealGate ? Health::kBad : Health::kLimits;
  found.mend = "none here: wait, or a host with CPUs of its own";
  return found;
}

Finding others_now(const Machine& machine) {
  Finding found{.name = "busy now", .what = "Cores that other programs keep busy, over the same look."};
  const auto online = online_cpus(machine.files);
  if (!online) return not_readable(std::move(found), fmt::format("{}/online", kCpus));
  if (!machine.before || !machine.after || machine.after->total() <= machine.before->total()) {
    return not_readable(std::move(found), kStat);
  }
  const auto elapsed = static_cast<double>(machine.after->total() - machine.before->total());
  const auto busy = static_cast<double>(machine.after->busy - machine.before->busy);
  const double cores = busy / elapsed * static_cast<double>(online->size());
  found.value = fmt::format("{:.2f} of {} cores", cores, online->size());
  found.here = cores <= kBusyGate ? "Limits nothing now." : "A run started now would be marked NOISY.";
  if (cores <= kBusyGate) return found;
  found.health = cores * 2 > static_cast<double>(online->size()) ? Health::kBad : Health::kLimits;
  found.mend = "top -b -n 1 | head -n 15    # shows who; end it, or wait";
  return found;
}

Finding hypervisor(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/cpuinfo";
  Finding found{.name = "hypervisor flag", .what = "Whether this is a virtual machine."};
  const std::optional<std::string> flags = machine.files.line_after(kPath, "flags");
  if (!flags) return not_readable(std::move(found), kPath);
  const bool is_virtual = has_word(words_of(*flags), "hypervisor");
  found.value = is_virtual ? "yes" : "no";
  found.here = "Limits nothing.";
  if (!is_virtual) return found;
  found.health = Health::kLimits;
  found.here = "A sleeping CPU wakes some 50 us later than bare metal would: latency with few connections shows that.";
  found.mend = "peal serve ... --spin auto    # or measure on bare metal";
  return found;
}

constexpr Rule kProcessorRules[] = {usable,    siblings,          governor,   turbo,     hypervisor,
                                    frequency, stolen_since_boot, stolen_now, others_now};

}  // namespace

Findings examine_processors(const Machine& machine) { return findings_of(kProcessorRules, "Processors", machine); }

}  // namespace peal::cli
