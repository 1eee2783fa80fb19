// SPDX-License-Identifier: BSD-3-Clause
// Rules about the CPUs: how many there are, how fast they are, and what else runs on them.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

constexpr std::string_view kCpus = "/sys/devices/system/cpu";
constexpr std::string_view kOnline = "/sys/devices/system/cpu/online";
constexpr std::string_view kStat = "/proc/stat";
constexpr double kStealGate = 0.01;  // a run is marked NOISY if the hypervisor takes a larger share of the CPU time
constexpr double kBusyGate = 0.10;   // a run is marked NOISY if other programs use more than this share of a core

std::string cpu_file(uint32_t cpu, std::string_view name) { return fmt::format("{}/cpu{}/{}", kCpus, cpu, name); }

std::optional<std::vector<uint32_t>> online_cpus(const MachineFiles& files) { return files.list(kOnline); }

// Reads the file `name` in the folder of each online CPU. Returns the different texts of these files. A CPU without
// this file is skipped.
std::set<std::string> texts_of_cpus(const MachineFiles& files, std::string_view name) {
  std::set<std::string> texts;
  for (uint32_t cpu : online_cpus(files).value_or(std::vector<uint32_t>())) {
    if (auto text = files.text(cpu_file(cpu, name)); text && !text->empty()) texts.insert(*text);
  }
  return texts;
}

// Returns how much CPU time passed in each state between machine.before and machine.after. `peal doctor` reads these
// two values before and after a pause (--look). Throws NotReadable if one of them is missing or if no CPU time passed.
CpuTimes done_meanwhile(const Machine& machine) {
  const std::optional<CpuTimes>& before = machine.before;
  const std::optional<CpuTimes>& after = machine.after;
  if (!before || !after || after->total() <= before->total()) throw NotReadable(kStat);
  return {
      .busy = after->busy - before->busy, .idle = after->idle - before->idle, .stolen = after->stolen - before->stolen};
}

double share_of(uint64_t part, const CpuTimes& all) {
  return static_cast<double>(part) / static_cast<double>(all.total());
}

Judged usable(const Machine& machine) {
  const size_t cpus = needed(usable_cpus(machine.files), kStatusFile).size();
  const std::vector<uint32_t> online = needed(online_cpus(machine.files), kOnline);
  if (online.empty()) throw NotReadable(kOnline);
  Judged found{
      .value = fmt::format("{} of {}", cpus, online.size()),
      .here = fmt::format(
          "{} loops at most can run at once, half of them for the server if the generator runs here too.", cpus),
      .health = rated(cpus, online.size()),
      .mend = fmt::format("taskset -pc {}-{} $$", online.front(), online.back())};
  if (cpus >= 2) return found;
  found.health = Health::kBad;
  found.here = "Server and generator take turns on one CPU: figures measure the scheduler, not the server.";
  if (online.size() <= cpus) found.mend = "none here: use a machine with two or more CPUs";
  return found;
}

Judged siblings(const Machine& machine) {
  const std::string control = fmt::format("{}/smt/active", kCpus);
  if (needed_number(machine, control) == 0) {
    return {.value = "off", .here = "Limits nothing: every CPU is a core of its own, as far as this machine shows."};
  }
  constexpr std::string_view kFile = "topology/thread_siblings_list";
  const std::set<std::string> cores = texts_of_cpus(machine.files, kFile);
  if (cores.empty()) throw NotReadable(cpu_file(0, kFile));
  return {.value = fmt::format("on, {} cores", cores.size()),
          .here = fmt::format("CPUs {} are one core: a generator on one of them slows down a server on the other.",
                              *cores.begin()),
          .health = Health::kLimits,
          .mend = fmt::format("echo off | sudo tee {}/smt/control", kCpus)};
}

Judged governor(const Machine& machine) {
  constexpr std::string_view kFile = "cpufreq/scaling_governor";
  const std::set<std::string> names = texts_of_cpus(machine.files, kFile);
  if (names.empty()) throw NotReadable(cpu_file(0, kFile));
  const std::string value = fmt::format("{}", fmt::join(names, ", "));
  if (value == "performance")
    return {.value = value, .here = "Limits nothing: the clock rate does not depend on the load."};
  return {.value = value,
          .here = "At a low message rate the clock drops: latency and CPU time per message rise.",
          .health = Health::kLimits,
          .mend = "sudo cpupower frequency-set -g performance"};
}

Judged turbo(const Machine& machine) {
  const std::string intel = fmt::format("{}/intel_pstate/no_turbo", kCpus);
  const std::string other = fmt::format("{}/cpufreq/boost", kCpus);
  const auto no_turbo = machine.files.number(intel);
  const auto boost = machine.files.number(other);
  if (!no_turbo && !boost) throw NotReadable(other);
  const bool on = no_turbo ? *no_turbo == 0 : *boost != 0;
  if (!on) return {.value = "off", .here = "Limits nothing: all runs have the same clock rate."};
  return {.value = "on",
          .here = "Two runs may differ only because of the clock rate: compare only interleaved repeats.",
          .health = Health::kLimits,
          .mend = no_turbo ? fmt::format("echo 1 | sudo tee {}", intel) : fmt::format("echo 0 | sudo tee {}", other)};
}

Judged frequency(const Machine& machine) {
  constexpr std::string_view kNow = "cpufreq/scaling_cur_freq";
  constexpr std::string_view kMost = "cpufreq/cpuinfo_max_freq";
  std::optional<uint64_t> now;
  uint64_t most = 0;
  for (uint32_t cpu : online_cpus(machine.files).value_or(std::vector<uint32_t>())) {
    const auto current = machine.files.number(cpu_file(cpu, kNow));
    const auto highest = machine.files.number(cpu_file(cpu, kMost));
    if (!current || !highest) continue;
    now = std::min(now.value_or(*current), *current);
    most = std::max(most, *highest);
  }
  if (!now) throw NotReadable(cpu_file(0, kNow));
  const auto gigahertz = [](uint64_t kilohertz) { return static_cast<double>(kilohertz) / 1e6; };
  const bool fast = *now * 10 >= most * 8;
  return {.value = fmt::format("{:.2f} of {:.2f} GHz", gigahertz(*now), gigahertz(most)),
          .here = fast ? "Limits nothing now."
                       : "Absolute times are longer than at the highest rate. Ratios hold if the rate does not change.",
          .health = fast ? Health::kOk : Health::kLimits,
          .mend = fmt::format("sudo cpupower frequency-set -d {}", most)};
}

Judged stolen_since_boot(const Machine& machine) {
  if (!machine.before || machine.before->total() == 0) throw NotReadable(kStat);
  const double share = share_of(machine.before->stolen, *machine.before);
  return {.value = fmt::format("{:.2f} %", 100 * share),
          .here = fmt::format("Runs with more than {:.0f} % are marked NOISY.", 100 * kStealGate),
          .health = share <= kStealGate ? Health::kOk : Health::kLimits,
          .mend = "none here: use a host with CPUs of its own"};
}

// Rates `now`, the CPU time that other programs or other virtual machines use at present. `now`, `most` and `bad` have
// the same unit: a share of the CPU time, or a number of cores. The result depends on `now`:
// - up to `most`: kOk.
// - up to `bad`: kLimits. A run would be marked NOISY.
// - above `bad`: kBad. A run would be marked NOISY.
Judged rated_now(std::string value, double now, double most, double bad) {
  return {.value = std::move(value),
          .here = now <= most ? "Limits nothing now." : "A run started now would be marked NOISY.",
          .health = now <= most  ? Health::kOk
                    : now <= bad ? Health::kLimits
                                 : Health::kBad};
}

Judged stolen_now(const Machine& machine) {
  const CpuTimes done = done_meanwhile(machine);
  const double share = share_of(done.stolen, done);
  Judged found = rated_now(fmt::format("{:.2f} %", 100 * share), share, kStealGate, 10 * kStealGate);
  found.mend = "none here: wait, or use a host with CPUs of its own";
  return found;
}

Judged others_now(const Machine& machine) {
  const size_t online = needed(online_cpus(machine.files), kOnline).size();
  const CpuTimes done = done_meanwhile(machine);
  const auto all = static_cast<double>(online);
  const double cores = share_of(done.busy, done) * all;
  Judged found = rated_now(fmt::format("{:.2f} of {} cores", cores, online), cores, kBusyGate, all / 2);
  found.mend = "top -b -n 1 | head -n 15    # shows the programs; end them, or wait";
  return found;
}

Judged hypervisor(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/cpuinfo";
  const std::string flags = needed(machine.files.line_after(kPath, "flags"), kPath);
  if (!has_word(words_of(flags), "hypervisor")) return {.value = "no", .here = "Limits nothing."};
  return {
      .value = "yes",
      .here = "A sleeping CPU wakes about 50 us later than on bare metal: with few connections, latency shows this.",
      .health = Health::kLimits,
      .mend = "peal serve ... --spin auto    # or measure on bare metal"};
}

constexpr Rule kProcessorRules[] = {
    {"CPUs usable of those online", "The CPUs on which this process may run (affinity).", usable},
    {"SMT siblings", "Whether several CPUs share a core.", siblings},
    {"CPU governor", "The policy that chooses the clock rate.", governor},
    {"turbo", "Whether the clock rate may rise above the nominal one while few cores are busy.", turbo},
    {"hypervisor flag", "Whether this is a virtual machine.", hypervisor},
    {"CPU frequency", "The clock rate of the slowest CPU now, and the highest possible one.", frequency},
    {"steal since boot", "The share of time in which the hypervisor let other machines run instead.",
     stolen_since_boot},
    {"steal now", "The share of stolen time in a short measurement (--look).", stolen_now},
    {"busy now", "The CPU time of other programs in a short measurement (--look).", others_now},
};

}  // namespace

Findings examine_processors(const Machine& machine) { return findings_of(kProcessorRules, "Processors", machine); }

}  // namespace peal::cli
