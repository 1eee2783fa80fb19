// SPDX-License-Identifier: BSD-3-Clause
// The kernel: its age, its clocks, what it can do, and whether it lets programs count.
#include <algorithm>
#include <array>
#include <compare>

#include <fmt/format.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

struct Version {
  uint64_t major = 0;
  uint64_t minor = 0;
  auto operator<=>(const Version&) const = default;
};

constexpr Version kUringNeeds{6, 1};
constexpr Version kPwait2Needs{5, 11};
constexpr std::string_view kReleasePath = "/proc/sys/kernel/osrelease";
constexpr std::string_view kNewerKernel = "sudo apt-get install linux-image-amd64    # Debian 12 has 6.1; reboot";

std::optional<Version> parse_version(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(dot + 1);
  const auto major = parse_number(text.substr(0, dot));
  const auto minor = parse_number(rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
  return major && minor ? std::optional(Version{*major, *minor}) : std::nullopt;
}

std::optional<Version> running_version(const Machine& machine) {
  const auto text = machine.files.text(kReleasePath);
  return text ? parse_version(*text) : std::nullopt;
}

Judged clock_source(const Machine& machine) {
  constexpr std::string_view kFolder = "/sys/devices/system/clocksource/clocksource0";
  // Those that a process reads without entering the kernel.
  constexpr std::array<std::string_view, 4> kFast = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                                     "arch_sys_counter"};
  const std::string path = fmt::format("{}/current_clocksource", kFolder);
  const std::string name = needed(machine.files.text(path), path);
  if (has_word(kFast, name)) {
    return {.value = name, .here = "Limits nothing: the clock is read in some 25 ns, without a system call."};
  }
  const std::string others = machine.files.text(fmt::format("{}/available_clocksource", kFolder)).value_or("");
  const auto words = words_of(others);
  const auto better = std::ranges::find_if(kFast, [&](std::string_view fast) { return has_word(words, fast); });
  return {
      .value = name,
      .here = "Each look at the clock is a system call of up to a microsecond; loops and time stamps pay it per event.",
      .health = Health::kBad,
      .mend = better != kFast.end() ? fmt::format("echo {} | sudo tee {}", *better, path)
                                    : "boot with clocksource=tsc tsc=reliable, if the CPU's is steady"};
}

Judged timer_slack(const Machine& machine) {
  const uint64_t ns = needed_number(machine, "/proc/self/timerslack_ns");
  constexpr uint64_t kUsual = 50'000;
  return {
      .value = raw(ns),
      .here = fmt::format("A wait ends up to {} us late; a paced generator spins its last 150 us instead.", ns / 1000),
      .health = ns <= kUsual    ? Health::kOk
                : ns <= 150'000 ? Health::kLimits
                                : Health::kBad,
      .mend = fmt::format("echo {} > /proc/$$/timerslack_ns", kUsual)};
}

Judged release(const Machine& machine) {
  const Version version = needed(running_version(machine), kReleasePath);
  Judged found{.value = machine.files.text(kReleasePath).value_or(""), .mend = std::string(kNewerKernel)};
  if (version >= kUringNeeds) {
    found.here = "Limits nothing: new enough for every engine.";
  } else if (version >= kPwait2Needs) {
    found.health = Health::kLimits;
    found.here = "The io_uring engine needs 6.1; --engine auto takes epoll.";
  } else {
    found.health = Health::kBad;
    found.here = "The io_uring engine needs 6.1; timers are kept to 1 ms before 5.11.";
  }
  return found;
}

// A feature that was tried: `why` is what the kernel answered, empty when it works.
Judged tried(const std::string& why, std::string_view works, std::string_view lacks) {
  if (why.empty()) return {.value = "works", .here = std::string(works)};
  return {.value = "no",
          .here = fmt::format("{} ({})", lacks, why),
          .health = Health::kLimits,
          .mend = std::string(kNewerKernel)};
}

Judged uring(const Machine& machine) {
  Judged found =
      tried(machine.probes.io_uring, "Limits nothing: --engine takes it.", "--engine io_uring fails; auto is epoll.");
  if (machine.files.number("/proc/sys/kernel/io_uring_disabled").value_or(0) != 0) {
    found.mend = "sudo sysctl -w kernel.io_uring_disabled=0";
  } else if (running_version(machine) >= kUringNeeds) {
    found.mend = "docker run --security-opt seccomp=unconfined ...    # a container's filter hides it";
  }
  return found;
}

Judged epoll(const Machine& machine) {
  Judged found = tried(machine.probes.epoll, "Limits nothing.", "No server of this library's fast engines runs here.");
  if (found.health != Health::kOk) found.health = Health::kBad;
  return found;
}

Judged pwait2(const Machine& machine) {
  return tried(machine.probes.epoll_pwait2, "Limits nothing: waits end when they are due.",
               "Waits are rounded up to whole milliseconds.");
}

Judged reuse_port(const Machine& machine) {
  return tried(machine.probes.reuse_port, "Limits nothing: every loop accepts for itself.",
               "Servers with several loops need --accept round-robin.");
}

Judged incoming_cpu(const Machine& machine) {
  return tried(machine.probes.incoming_cpu, "Limits nothing: connections can be kept on the CPU their packets use.",
               "Connections cannot be kept on the CPU their packets use.");
}

Judged ipv6(const Machine& machine) {
  Judged found = tried(machine.probes.ipv6, "Limits nothing.",
                       "Targets such as [::1]:9981 do not exist here; tests with IPv6 are skipped.");
  found.mend = "sudo sysctl -w net.ipv6.conf.lo.disable_ipv6=0";
  return found;
}

Judged counting(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/kernel/perf_event_paranoid";
  const std::string text = needed(machine.files.text(kPath), kPath);
  const uint64_t level = text.starts_with('-') ? 0 : needed(parse_number(text), kPath);
  if (level <= 1) {
    return {.value = text, .here = "Limits nothing: instructions of server and kernel can be counted."};
  }
  return {.value = text,
          .here = level == 2 ? "Without root, only what runs outside the kernel can be counted."
                             : "Without root, nothing can be counted: only valgrind counts instructions.",
          .health = Health::kLimits,
          .mend = "sudo sysctl -w kernel.perf_event_paranoid=1"};
}

Judged hardware_counters(const Machine& machine) {
  constexpr std::string_view kFolder = "/sys/bus/event_source/devices";
  const auto names = machine.files.names(kFolder);
  if (names.empty()) throw NotReadable(kFolder);
  const bool visible = std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with("cpu") || name.starts_with("armv8"); });
  if (visible) {
    return {.value = "yes", .here = "Limits nothing: perf stat counts instructions and cache misses."};
  }
  return {.value = "no",
          .here = "perf stat has no instructions to count: figures per message come from valgrind.",
          .health = Health::kLimits,
          .mend = "none here: the host must pass the counters on (KVM: -cpu host,pmu=on)"};
}

constexpr Rule kClockRules[] = {
    {"clocksource", "What the time is read from.", clock_source},
    {"timer slack", "Nanoseconds by which the kernel may be late to wake this process.", timer_slack},
};
constexpr Rule kKernelRules[] = {
    {"kernel", "Its version.", release},
    {"io_uring", "peal's own probe: a ring with all that its engine needs.", uring},
    {"epoll", "The engine that runs wherever Linux does.", epoll},
    {"epoll_pwait2", "Waiting with a deadline in nanoseconds (Linux 5.11).", pwait2},
    {"SO_REUSEPORT", "Several listeners on one port, one a loop (Linux 3.9).", reuse_port},
    {"SO_INCOMING_CPU", "Which CPU a connection's packets come in on (Linux 3.19, 6.2).", incoming_cpu},
    {"IPv6 loopback", "Whether [::1] can be bound.", ipv6},
    {"kernel.perf_event_paranoid", "Who may use performance counters.", counting},
    {"hardware counters", "Whether the CPU's own counters are visible.", hardware_counters},
};

}  // namespace

Findings examine_clocks(const Machine& machine) { return findings_of(kClockRules, "Clocks", machine); }

Findings examine_kernel(const Machine& machine) { return findings_of(kKernelRules, "Kernel", machine); }

}  // namespace peal::cli
