// SPDX-License-Identifier: BSD-3-Clause
// FakeMachine: a machine for the tests of `peal doctor`. Its files are in a temporary folder. At first they give `peal
// doctor` nothing to complain about. A test then changes a file so that there is something.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <cli/doctor/doctor_rules.h>
#include <tests/support/files/temporary_folder.h>

namespace peal::cli {

inline const std::map<std::string, std::string> kGoodMachine = {
    {"/proc/self/limits",
     "Limit             Soft Limit  Hard Limit  Units\n"
     "Max open files    1048576     1048576     files\n"},
    {"/proc/sys/fs/nr_open", "1048576\n"},
    {"/proc/sys/fs/file-max", "9223372036854775807\n"},
    {"/proc/sys/fs/file-nr", "1054\t0\t9223372036854775807\n"},
    {"/proc/sys/net/ipv4/ip_local_port_range", "1024\t65535\n"},
    {"/proc/sys/net/ipv4/ip_local_reserved_ports", "\n"},
    {"/proc/sys/net/ipv4/tcp_tw_reuse", "1\n"},
    {"/proc/sys/net/ipv4/tcp_fin_timeout", "60\n"},
    {"/proc/sys/net/ipv4/tcp_max_tw_buckets", "262144\n"},
    {"/proc/net/sockstat", "sockets: used 15\nTCP: inuse 1 orphan 0 tw 3 alloc 1 mem 0\n"},
    {"/proc/sys/net/core/somaxconn", "4096\n"},
    {"/proc/sys/net/ipv4/tcp_max_syn_backlog", "4096\n"},
    {"/proc/sys/net/ipv4/tcp_syncookies", "1\n"},
    {"/proc/sys/net/core/netdev_max_backlog", "1000\n"},
    {"/sys/class/net/lo/mtu", "65536\n"},
    {"/proc/self/status", "Name:\tpeal\nCpus_allowed_list:\t0-3\n"},
    {"/sys/devices/system/cpu/online", "0-3\n"},
    {"/sys/devices/system/cpu/smt/active", "0\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3400000\n"},
    {"/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"},
    {"/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc\n"},
    {"/proc/stat", "cpu  5 0 5 990 0 0 0 0 0 0\n"},
    {"/proc/self/cgroup", "0::/user.slice/peal\n"},
    {"/sys/fs/cgroup/cgroup.procs", ""},
    {"/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"},
    {"/sys/fs/cgroup/user.slice/peal/cpu.max", "max 100000\n"},
    {"/sys/fs/cgroup/user.slice/peal/memory.max", "max\n"},
    {"/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable:   8388608 kB\n"},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
    {"/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"},
    {"/proc/self/timerslack_ns", "50000\n"},
    {"/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"},
    {"/proc/sys/kernel/io_uring_disabled", "0\n"},
    {"/proc/sys/kernel/perf_event_paranoid", "-1\n"},
    {"/sys/bus/event_source/devices/cpu/type", "4\n"},
    {"/roots.pem", "some\n"},
};

// Writes the files of kGoodMachine into a temporary folder. The folder is deleted with this object.
class FakeMachine {
 public:
  FakeMachine() {
    for (const auto& [path, text] : kGoodMachine) write(path, text);
  }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full(root_ + path);
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_ + path); }
  // Writes the original content of the file `path` again. If `path` is a folder, does this for all files below it.
  void restore(const std::string& path) const {
    remove(path);
    for (const auto& [good, text] : kGoodMachine) {
      if (good.starts_with(path)) write(good, text);
    }
  }
  Machine machine() const {
    Machine made{.files = MachineFiles(root_)};
    made.before = made.files.cpu_times();
    made.after = made.before;
    if (made.after) made.after->idle += 100;
    made.tls = {.version = "OpenSSL 3.5.1 1 Jul 2025",
                .providers = {"default"},
                .tls13 = true,
                .processor = "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab",
                .roots_file = root_ + "/roots.pem"};
    return made;
  }
  Findings findings() const { return examine(machine()); }

 private:
  const test::TemporaryFolder folder_;
  const std::string root_ = folder_.path("root");
};

inline Finding named(const Findings& findings, std::string_view name) {
  const auto found = std::ranges::find(findings, name, &Finding::name);
  EXPECT_NE(found, findings.end()) << name;
  return found == findings.end() ? Finding{} : *found;
}

}  // namespace peal::cli
