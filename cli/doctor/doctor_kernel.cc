// SPDX-License-Identifier: BSD-3-Clause
// Rules about the kernel: its version, its clocks, its features, and whether programs may count instructions.
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
constexpr std::string_view kNewerKernel =
    "sudo apt-get install linux-image-amd64    # Debian 12 has 6.1; reboot afterwards";

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
  // The usual clock sources of x86 and ARM that a process can read without a system call (vdso(7)). Every other clock
  // source counts as slow.
  constexpr std::array<std::string_view, 4> kFast = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                                     "arch_sys_counter"};
  const std::string path = fmt::format("{}/current_clocksource", kFolder);
  const std::string name = needed(machine.files.text(path), path);
  if (has_word(kFast, name)) {
    return {.value = name, .here = "Limits nothing: reading the clock takes about 25 ns and no system call."};
  }
  const std::string others = machine.files.text(fmt::format("{}/available_clocksource", kFolder)).value_or("");
  const auto words = words_of(others);
  const auto better = std::ranges::find_if(kFast, [&](std::string_view fast) { return has_word(words, fast); });
  return {.value = name,
          .here = "Reading the clock is a system call of up to a microsecond. A loop does it for each event.",
          .health = Health::kBad,
          .mend = better != kFast.end() ? fmt::format("echo {} | sudo tee {}", *better, path)
                                        : "boot with clocksource=tsc tsc=reliable, if the CPU's TSC is steady"};
}

Judged timer_slack(const Machine& machine) {
  const uint64_t ns = needed_number(machine, "/proc/self/timerslack_ns");
  constexpr uint64_t kUsual = 50'000;
  return {.value = raw(ns),
          .here = fmt::format(
              "A wait ends up to {} us late. With --rate, peal load polls for the last 150 us of a wait.", ns / 1000),
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
    found.here = "The io_uring engine needs 6.1. --engine auto is epoll.";
  } else {
    found.health = Health::kBad;
    found.here = "The io_uring engine needs 6.1. Before 5.11, timers are exact only to 1 ms.";
  }
  return found;
}

// Judges a kernel feature. `why` is the kernel's error text, or empty if the feature works. If it works, the report
// shows the text `works`. Otherwise the report shows the text `lacks` and the error.
Judged tried(const std::string& why, std::string_view works, std::string_view lacks) {
  if (why.empty()) return {.value = "works", .here = std::string(works)};
  return {.value = "no",
          .here = fmt::format("{} ({})", lacks, why),
          .health = Health::kLimits,
          .mend = std::string(kNewerKernel)};
}

Judged uring(const Machine& machine) {
  Judged found = tried(machine.probes.io_uring, "Limits nothing: --engine io_uring works.",
                       "--engine io_uring fails; auto is epoll.");
  if (machine.files.number("/proc/sys/kernel/io_uring_disabled").value_or(0) != 0) {
    found.mend = "sudo sysctl -w kernel.io_uring_disabled=0";
  } else if (running_version(machine) >= kUringNeeds) {
    found.mend = "docker run --security-opt seccomp=unconfined ...    # a container blocks it";
  }
  return found;
}

Judged epoll(const Machine& machine) {
  Judged found =
      tried(machine.probes.epoll, "Limits nothing.", "The default engine does not run here: use --engine poll.");
  if (found.health != Health::kOk) found.health = Health::kBad;
  return found;
}

Judged pwait2(const Machine& machine) {
  return tried(machine.probes.epoll_pwait2, "Limits nothing: waits end when they are due.",
               "Waits are rounded up to whole milliseconds.");
}

Judged reuse_port(const Machine& machine) {
  return tried(machine.probes.reuse_port, "Limits nothing: every loop can accept its own connections.",
               "Servers with several loops need --accept round-robin.");
}

Judged incoming_cpu(const Machine& machine) {
  return tried(machine.probes.incoming_cpu,
               "Limits nothing: a connection can be served on the CPU that receives its packets.",
               "A connection cannot be served on the CPU that receives its packets.");
}

Judged ipv6(const Machine& machine) {
  Judged found = tried(machine.probes.ipv6, "Limits nothing.",
                       "Targets such as [::1]:9981 cannot be used; tests with IPv6 are skipped.");
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
          .here = level == 2 ? "Without root, only instructions outside the kernel can be counted."
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
          .here = "perf stat cannot count instructions: take the instructions per message from valgrind.",
          .health = Health::kLimits,
          .mend = "none here: the host must allow the counters (KVM: -cpu host,pmu=on)"};
}

constexpr Rule kClockRules[] = {
    {"clocksource", "The source from which the kernel reads the time.", clock_source},
    {"timer slack", "How late the kernel may wake this process, in nanoseconds.", timer_slack},
};
constexpr Rule kKernelRules[] = {
    {"kernel", "The version of the running kernel.", release},
    {"io_uring", "Whether the kernel allows a ring with all features that peal's engine needs.", uring},
    {"epoll", "The default engine, which works on every Linux.", epoll},
    {"epoll_pwait2", "Waiting with a timeout in nanoseconds (since Linux 5.11).", pwait2},
    {"SO_REUSEPORT", "Several listeners on one port, one for each loop (since Linux 3.9).", reuse_port},
    {"SO_INCOMING_CPU", "Which CPU receives the packets of a connection (since Linux 3.19; changed in 6.2).",
     incoming_cpu},
    {"IPv6 loopback", "Whether [::1] can be bound.", ipv6},
    {"kernel.perf_event_paranoid", "Which users may use performance counters.", counting},
    {"hardware counters", "Whether the CPU's own counters are visible.", hardware_counters},
};

}  // namespace

Findings examine_clocks(const Machine& machine) { return findings_of(kClockRules, "Clocks", machine); }

Findings examine_kernel(const Machine& machine) { return findings_of(kKernelRules, "Kernel", machine); }

}  // namespace peal::cli
