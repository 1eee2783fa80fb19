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

Finding clock_source(const Machine& machine) {
  constexpr std::string_view kFolder = "/sys/devices/system/clocksource/clocksource0";
  // Those that a process reads without entering the kernel.
  constexpr std::array<std::string_view, 4> kFast = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                                     "arch_sys_counter"};
  Finding found{.name = "clocksource", .what = "What the time is read from."};
  const std::string path = fmt::format("{}/current_clocksource", kFolder);
  const auto name = machine.files.text(path);
  if (!name) return not_readable(std::move(found), path);
  found.value = *name;
  found.here = "Limits nothing: the clock is read in some 25 ns, without a system call.";
  if (has_word(kFast, *name)) return found;
  found.health = Health::kBad;
  found.here =
      "Each look at the clock is a system call of up to a microsecond; loops and time stamps pay it per event.";
  const std::string others = machine.files.text(fmt::format("{}/available_clocksource", kFolder)).value_or("");
  const auto words = words_of(others);
  const auto better = std::ranges::find_if(kFast, [&](std::string_view fast) { return has_word(words, fast); });
  found.mend = better != kFast.end() ? fmt::format("echo {} | sudo tee {}", *better, path)
                                     : "boot with clocksource=tsc tsc=reliable, if the CPU's is steady";
  return found;
}

Finding timer_slack(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/self/timerslack_ns";
  constexpr uint64_t kUsual = 50'000;
  Finding found{.name = "timer slack", .what = "Nanoseconds by which the kernel may be late to wake this process."};
  const auto ns = machine.files.number(kPath);
  if (!ns) return not_readable(std::move(found), kPath);
  found.value = raw(*ns);
  found.here =
      fmt::format("A wait ends up to {} us late; a paced generator spins its last 150 us instead.", *ns / 1000);
  if (*ns <= kUsual) return found;
  found.health = *ns > 150'000 ? Health::kBad : Health::kLimits;
  found.mend = fmt::format("echo {} > /proc/$$/timerslack_ns", kUsual);
  return found;
}

Finding release(const Machine& machine) {
  Finding found{.name = "kernel", .what = "Its version."};
  const auto text = machine.files.text(kReleasePath);
  const std::optional<Version> version = text ? parse_version(*text) : std::nullopt;
  if (!version) return not_readable(std::move(found), kReleasePath);
  found.value = *text;
  if (*version >= kUringNeeds) {
    found.here = "Limits nothing: new enough for every engine.";
    return found;
  }
  found.health = *version < kPwait2Needs ? Health::kBad : Health::kLimits;
  found.here = *version < kPwait2Needs ? "The io_uring engine needs 6.1; timers are kept to 1 ms before 5.11."
                                       : "The io_uring engine needs 6.1; --engine auto takes epoll.";
  found.mend = kNewerKernel;
  return found;
}

// A feature that was tried: `why` is what the kernel answered, empty when it works.
Finding tried(Finding found, const std::string& why, std::string_view works, std::string_view lacks) {
  found.value = why.empty() ? "works" : "no";
  if (why.empty()) {
    found.here = works;
    return found;
  }
  found.health = Health::kLimits;
  found.here = fmt::format("{} ({})", lacks, why);
  found.mend = kNewerKernel;
  return found;
}

Finding uring(const Machine& machine) {
  constexpr std::string_view kSwitch = "kernel.io_uring_disabled";
  Finding found =
      tried({.name = "io_uring", .what = "peal's own probe: a ring with all that its engine needs."},
            machine.probes.io_uring, "Limits nothing: --engine takes it.", "--engine io_uring fails; auto is epoll.");
  if (found.health == Health::kOk) return found;
  const auto text = machine.files.text(kReleasePath);
  const std::optional<Version> version = text ? parse_version(*text) : std::nullopt;
  if (machine.files.number("/proc/sys/kernel/io_uring_disabled").value_or(0) != 0) {
    found.mend = fmt::format("sudo sysctl -w {}=0", kSwitch);
  } else if (version && *version >= kUringNeeds) {
    found.mend = "docker run --security-opt seccomp=unconfined ...    # a container's filter hides it";
  }
  return found;
}

Finding epoll(const Machine& machine) {
  Finding found = tried({.name = "epoll", .what = "The engine that runs wherever Linux does."}, machine.probes.epoll,
                        "Limits nothing.", "No server of this library's fast engines runs here.");
  if (found.health != Health::kOk) found.health = Health::kBad;
  return found;
}

Finding pwait2(const Machine& machine) {
  return tried({.name = "epoll_pwait2", .what = "Waiting with a deadline in nanoseconds (Linux 5.11)."},
               machine.probes.epoll_pwait2, "Limits nothing: waits end when they are due.",
               "Waits are rounded up to whole milliseconds.");
}

Finding reuse_port(const Machine& machine) {
  return tried({.name = "SO_REUSEPORT", .what = "Several listeners on one port, one a loop (Linux 3.9)."},
               machine.probes.reuse_port, "Limits nothing: every loop accepts for itself.",
               "Servers with several loops need --accept round-robin.");
}

Finding incoming_cpu(const Machine& machine) {
  return tried({.name = "SO_INCOMING_CPU", .what = "Which CPU a connection's packets come in on (Linux 3.19, 6.2)."},
               machine.probes.incoming_cpu, "Limits nothing: connections can be kept on the CPU their packets use.",
               "Connections cannot be kept on the CPU their packets use.");
}

Finding ipv6(const Machine& machine) {
  Finding found =
      tried({.name = "IPv6 loopback", .what = "Whether [::1] can be bound."}, machine.probes.ipv6, "Limits nothing.",
            "Targets such as [::1]:9981 do not exist here; tests with IPv6 are skipped.");
  if (found.health != Health::kOk) found.mend = "sudo sysctl -w net.ipv6.conf.lo.disable_ipv6=0";
  return found;
}

Finding counting(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/kernel/perf_event_paranoid";
  Finding found{.name = "kernel.perf_event_paranoid", .what = "Who may use performance counters."};
  const auto text = machine.files.text(kPath);
  if (!text) return not_readable(std::move(found), kPath);
  const bool is_negative = text->starts_with('-');
  const auto level = is_negative ? std::optional<uint64_t>(0) : parse_number(*text);
  if (!level) return not_readable(std::move(found), kPath);
  found.value = *text;
  if (*level <= 1) {
    found.here = "Limits nothing: instructions of server and kernel can be counted.";
    return found;
  }
  found.health = Health::kLimits;
  found.here = *level == 2 ? "Without root, only what runs outside the kernel can be counted."
                           : "Without root, nothing can be counted: only valgrind counts instructions.";
  found.mend = "sudo sysctl -w kernel.perf_event_paranoid=1";
  return found;
}

Finding hardware_counters(const Machine& machine) {
  constexpr std::string_view kFolder = "/sys/bus/event_source/devices";
  Finding found{.name = "hardware counters", .what = "Whether the CPU's own counters are visible."};
  const auto names = machine.files.names(kFolder);
  if (names.empty()) return not_readable(std::move(found), kFolder);
  const bool visible = std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with("cpu") || name.starts_with("armv8"); });
  found.value = visible ? "yes" : "no";
  found.here = visible ? "Limits nothing: perf stat counts instructions and cache misses."
                       : "perf stat has no instructions to count: figures per message come from valgrind.";
  if (visible) return found;
  found.health = Health::kLimits;
  found.mend = "none here: the host must pass the counters on (KVM: -cpu host,pmu=on)";
  return found;
}

constexpr Rule kClockRules[] = {clock_source, timer_slack};
constexpr Rule kKernelRules[] = {release,      uring, epoll,    pwait2,           reuse_port,
                                 incoming_cpu, ipv6,  counting, hardware_counters};

}  // namespace

Findings examine_clocks(const Machine& machine) { return findings_of(kClockRules, "Clocks", machine); }

Findings examine_kernel(const Machine& machine) { return findings_of(kKernelRules, "Kernel", machine); }

}  // namespace peal::cli
