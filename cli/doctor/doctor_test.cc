// SPDX-License-Identifier: BSD-3-Clause
// Tests every rule of `peal doctor` three times: on a good machine, on a machine with one bad value, and on a machine
// where one file cannot be read.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tests/support/fake_machine.h>

namespace peal::cli {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Doctor, a_machine_with_nothing_to_mend) {
  for (const Finding& found : FakeMachine().findings()) {
    EXPECT_EQ(to_string(found.health), "ok") << found.name << ": " << found.here;
    EXPECT_THAT(found.mend, IsEmpty()) << found.name;
    EXPECT_THAT((std::vector{found.group, found.name, found.value, found.what, found.here}), Each(Not(IsEmpty())))
        << found.name;
  }
}

// One test case: the file `path` gets the bad content `text`. The test expects that the finding `name` then has this
// health, and that its texts contain `here` and `mend`.
struct Ruin {
  std::string path;
  std::string text;
  std::string name;
  Health health;
  std::string here;
  std::string mend;
};

const Ruin kRuins[] = {
    {"/proc/self/limits", "Max open files 1024 20000 files\n", "open files, hard (ulimit -Hn)", Health::kBad,
     "At most 19,800 connections a process, or 9,900 socketpairs", "sudo prlimit --pid $$ --nofile=1048576"},
    {"/proc/self/limits", "Max open files 1024 524288 files\n", "open files, hard (ulimit -Hn)", Health::kLimits,
     "At most 524,088 connections", "--nofile=1048576"},
    {"/proc/self/limits", "Max open files 1024 524288 files\n", "open files, soft (ulimit -Sn)", Health::kLimits,
     "peal raises it to the hard limit by itself. Other servers that are started here can have only 1,024",
     "ulimit -Sn 524288"},
    {"/proc/sys/fs/nr_open", "65536", "fs.nr_open", Health::kLimits, "more than 65,336", "fs.nr_open=1048576"},
    {"/proc/sys/fs/nr_open", "4096", "fs.nr_open", Health::kBad, "more than 3,896", "fs.nr_open=1048576"},
    {"/proc/sys/fs/file-max", "2000", "fs.file-max", Health::kBad, "473 connections", "sysctl -w fs.file-max=10486814"},
    {"/proc/sys/fs/file-max", "101054", "fs.file-max", Health::kLimits, "50,000 connections", "sysctl -w fs.file-max="},
    {"/proc/sys/net/ipv4/ip_local_port_range", "32768 60999", "net.ipv4.ip_local_port_range", Health::kLimits,
     "28,232 connections from one source address to one target", "ip_local_port_range='1024 65535'"},
    {"/proc/sys/net/ipv4/ip_local_port_range", "60000 60999", "net.ipv4.ip_local_port_range", Health::kBad,
     "At most 1,000 connections from one source address", "ip_local_port_range='1024 65535'"},
    {"/proc/sys/net/ipv4/ip_local_reserved_ports", "80,2000-21999", "net.ipv4.ip_local_port_range", Health::kLimits,
     "44,512 connections from one source address", "ip_local_port_range"},
    {"/proc/sys/net/ipv4/tcp_tw_reuse", "0", "net.ipv4.tcp_tw_reuse", Health::kLimits, "above 1,075/s to one target",
     "tcp_tw_reuse=1"},
    {"/proc/sys/net/ipv4/tcp_fin_timeout", "300", "net.ipv4.tcp_fin_timeout", Health::kLimits, "for 300 s",
     "tcp_fin_timeout=60"},
    {"/proc/sys/net/ipv4/tcp_max_tw_buckets", "4096", "net.ipv4.tcp_max_tw_buckets", Health::kLimits, "Beyond 4,096",
     "tcp_max_tw_buckets=262144"},
    {"/proc/net/sockstat", "TCP: inuse 1 orphan 0 tw 40000 alloc 1\n", "sockets in TIME_WAIT", Health::kLimits,
     "40,000 of the 64,512 ports", "sleep 60"},
    {"/proc/sys/net/core/somaxconn", "512", "net.core.somaxconn", Health::kLimits, "queues at most 512",
     "somaxconn=4096"},
    {"/proc/sys/net/core/somaxconn", "128", "net.core.somaxconn", Health::kBad, "queues at most 128", "somaxconn=4096"},
    {"/proc/sys/net/core/netdev_max_backlog", "100", "net.core.netdev_max_backlog", Health::kLimits,
     "more than 100 packets", "netdev_max_backlog=10000"},
    {"/proc/sys/net/netfilter/nf_conntrack_max", "8192", "net.netfilter.nf_conntrack_max", Health::kLimits,
     "Beyond 8,192 connections", "nf_conntrack_max=1048576"},
    {"/sys/class/net/lo/mtu", "16384", "MTU of lo", Health::kLimits, "takes 4 packets", "ip link set dev lo mtu 65536"},
    {"/proc/self/status", "Cpus_allowed_list:\t0,2\n", "CPUs usable of those online", Health::kLimits,
     "2 loops at most", "taskset -pc 0-3 $$"},
    {"/proc/self/status", "Cpus_allowed_list:\t1\n", "CPUs usable of those online", Health::kBad,
     "take turns on one CPU", "taskset -pc 0-3 $$"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave", "CPU governor", Health::kLimits,
     "the clock drops", "cpupower frequency-set -g performance"},
    {"/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "ondemand", "CPU governor", Health::kLimits,
     "the clock drops", "cpupower frequency-set -g performance"},
    {"/sys/devices/system/cpu/intel_pstate/no_turbo", "0", "turbo", Health::kLimits, "interleaved repeats",
     "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1200000", "CPU frequency", Health::kLimits,
     "Absolute times are longer", "cpupower frequency-set -d 3400000"},
    {"/proc/cpuinfo", "flags\t\t: fpu hypervisor tsc\n", "hypervisor flag", Health::kLimits, "wakes about 50 us later",
     "--spin auto"},
    {"/proc/stat", "cpu  0 0 0 90 0 0 0 10 0 0\n", "steal since boot", Health::kLimits, "NOISY", "none here"},
    {"/sys/fs/cgroup/user.slice/cpu.max", "150000 100000", "cgroup CPU quota", Health::kLimits, "stand still",
     "echo max | sudo tee /sys/fs/cgroup/user.slice/cpu.max"},
    {"/sys/fs/cgroup/user.slice/peal/cpu.max", "50000 100000", "cgroup CPU quota", Health::kBad, "stand still",
     "echo max | sudo tee /sys/fs/cgroup/user.slice/peal/cpu.max"},
    {"/sys/fs/cgroup/user.slice/memory.max", "536870912", "cgroup memory limit", Health::kLimits,
     "about 65,536 idle connections", "echo max | sudo tee /sys/fs/cgroup/user.slice/memory.max"},
    {"/sys/fs/cgroup/user.slice/peal/memory.max", "67108864", "cgroup memory limit", Health::kBad,
     "about 8,192 idle connections", "/peal/memory.max"},
    {"/proc/meminfo", "MemAvailable: 524288 kB\n", "memory available", Health::kLimits, "about 65,536", "ps aux"},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never", "transparent huge pages", Health::kLimits,
     "steps of 2 MiB", "echo madvise | sudo tee"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", "clocksource", Health::kBad,
     "system call", "echo tsc | sudo tee"},
    {"/proc/self/timerslack_ns", "100000", "timer slack", Health::kLimits, "100 us late", "> /proc/$$/timerslack_ns"},
    {"/proc/self/timerslack_ns", "4000000", "timer slack", Health::kBad, "4000 us late", "> /proc/$$/timerslack_ns"},
    {"/proc/sys/kernel/osrelease", "5.15.0-91-generic", "kernel", Health::kLimits, "needs 6.1", "linux-image-amd64"},
    {"/proc/sys/kernel/osrelease", "4.19.0", "kernel", Health::kBad, "exact only to 1 ms", "linux-image-amd64"},
    {"/proc/sys/kernel/perf_event_paranoid", "2", "kernel.perf_event_paranoid", Health::kLimits, "outside the kernel",
     "perf_event_paranoid=1"},
    {"/proc/sys/kernel/perf_event_paranoid", "4", "kernel.perf_event_paranoid", Health::kLimits, "nothing can be",
     "perf_event_paranoid=1"},
};

TEST(Doctor, one_bad_value) {
  const FakeMachine made;
  for (const Ruin& ruin : kRuins) {
    SCOPED_TRACE(ruin.path + " = " + ruin.text);
    made.write(ruin.path, ruin.text);
    const Finding found = named(made.findings(), ruin.name);
    EXPECT_EQ(to_string(found.health), to_string(ruin.health));
    EXPECT_THAT(found.here, HasSubstr(ruin.here));
    EXPECT_THAT(found.mend, HasSubstr(ruin.mend));
    made.restore(ruin.path);
  }
}

// Maps each file to a finding that needs it. The finding is unknown if the file cannot be read.
const std::multimap<std::string, std::string> kNeeds = {
    {"/proc/self/limits", "open files, hard (ulimit -Hn)"},
    {"/proc/self/limits", "open files, soft (ulimit -Sn)"},
    {"/proc/sys/fs/nr_open", "fs.nr_open"},
    {"/proc/sys/fs/file-max", "fs.file-max"},
    {"/proc/sys/fs/file-nr", "fs.file-max"},
    {"/proc/sys/net/ipv4/ip_local_port_range", "net.ipv4.ip_local_port_range"},
    {"/proc/sys/net/ipv4/ip_local_port_range", "net.ipv4.tcp_tw_reuse"},
    {"/proc/sys/net/ipv4/tcp_tw_reuse", "net.ipv4.tcp_tw_reuse"},
    {"/proc/sys/net/ipv4/tcp_fin_timeout", "net.ipv4.tcp_fin_timeout"},
    {"/proc/sys/net/ipv4/tcp_max_tw_buckets", "net.ipv4.tcp_max_tw_buckets"},
    {"/proc/net/sockstat", "sockets in TIME_WAIT"},
    {"/proc/sys/net/core/somaxconn", "net.core.somaxconn"},
    {"/proc/sys/net/ipv4/tcp_max_syn_backlog", "net.ipv4.tcp_max_syn_backlog"},
    {"/proc/sys/net/ipv4/tcp_syncookies", "net.ipv4.tcp_max_syn_backlog"},
    {"/proc/sys/net/core/netdev_max_backlog", "net.core.netdev_max_backlog"},
    {"/proc/sys/net/core", "net.netfilter.nf_conntrack_max"},
    {"/sys/class/net/lo/mtu", "MTU of lo"},
    {"/proc/self/status", "CPUs usable of those online"},
    {"/sys/devices/system/cpu/online", "CPUs usable of those online"},
    {"/sys/devices/system/cpu/online", "busy now"},
    {"/sys/devices/system/cpu/smt/active", "SMT siblings"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "CPU governor"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "CPU frequency"},
    {"/sys/devices/system/cpu/intel_pstate/no_turbo", "turbo"},
    {"/proc/cpuinfo", "hypervisor flag"},
    {"/proc/stat", "steal since boot"},
    {"/proc/stat", "steal now"},
    {"/proc/stat", "busy now"},
    {"/proc/self/cgroup", "cgroup CPU quota"},
    {"/proc/self/cgroup", "cgroup memory limit"},
    {"/proc/meminfo", "memory available"},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "transparent huge pages"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "clocksource"},
    {"/proc/self/timerslack_ns", "timer slack"},
    {"/proc/sys/kernel/osrelease", "kernel"},
    {"/proc/sys/kernel/perf_event_paranoid", "kernel.perf_event_paranoid"},
    {"/sys/bus/event_source/devices", "hardware counters"},
};

void expect_unknown(const Finding& found) {
  EXPECT_EQ(to_string(found.health), "unknown") << found.name;
  EXPECT_THAT(found.here, HasSubstr("Not readable here: /")) << found.name;
  EXPECT_THAT(found.mend, IsEmpty()) << found.name;
}

TEST(Doctor, one_file_is_missing) {
  const FakeMachine made;
  for (const auto& [path, name] : kNeeds) {
    SCOPED_TRACE(path);
    made.remove(path);
    expect_unknown(named(made.findings(), name));
    made.restore(path);
  }
}

TEST(Doctor, one_file_holds_nonsense) {
  const FakeMachine made;
  for (const auto& [path, name] : kNeeds) {
    SCOPED_TRACE(path);
    const auto text = kGoodMachine.find(path);
    // Skips folders, because they have no text. Also skips the files in which any text is a valid name.
    if (text == kGoodMachine.end() || name == "CPU governor" || name == "clocksource" || name == "hypervisor flag") {
      continue;
    }
    made.write(path, "\x01 -7 no sense [\n");
    expect_unknown(named(made.findings(), name));
    made.restore(path);
  }
}

TEST(Doctor, every_rule_is_tested_with_a_bad_value_and_with_an_unreadable_file) {
  const std::set<std::string> of_probes = {"io_uring",     "epoll",           "epoll_pwait2",
                                           "SO_REUSEPORT", "SO_INCOMING_CPU", "IPv6 loopback"};
  const std::set<std::string> elsewhere = {"net.ipv4.tcp_max_syn_backlog", "SMT siblings", "steal now", "busy now",
                                           "hardware counters"};
  for (const Finding& found : FakeMachine().findings()) {
    if (of_probes.contains(found.name) || found.group == "TLS") continue;
    EXPECT_TRUE(std::ranges::any_of(kNeeds, [&](const auto& need) { return need.second == found.name; })) << found.name;
    EXPECT_TRUE(elsewhere.contains(found.name) || std::ranges::count(kRuins, found.name, &Ruin::name) > 0)
        << found.name;
  }
}

TEST(Doctor, no_file_can_be_read) {
  Machine machine{.files = MachineFiles("/nowhere/at/all")};
  for (const Finding& found : examine(machine)) {
    const bool is_probe = found.value == "works";
    if (found.group == "TLS") {
      EXPECT_EQ(to_string(found.health), "unknown") << found.name;
    } else if (!is_probe) {
      expect_unknown(found);
    }
  }
}

}  // namespace
}  // namespace peal::cli
