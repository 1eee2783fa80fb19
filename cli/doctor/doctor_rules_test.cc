// SPDX-License-Identifier: BSD-3-Clause
// Tests the rules of `peal doctor` that depend on more than one file.
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tests/support/fake_machine.h>

namespace peal::cli {
namespace {

using testing::AllOf;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(DoctorRules, without_syn_cookies_the_handshake_queue_is_a_limit) {
  const FakeMachine made;
  made.write("/proc/sys/net/ipv4/tcp_syncookies", "0");
  EXPECT_EQ(named(made.findings(), "net.ipv4.tcp_max_syn_backlog").health, Health::kOk);
  made.write("/proc/sys/net/ipv4/tcp_max_syn_backlog", "256");
  const Finding found = named(made.findings(), "net.ipv4.tcp_max_syn_backlog");
  EXPECT_EQ(found.health, Health::kLimits);
  EXPECT_THAT(found.here, HasSubstr("about 192 unfinished handshakes"));
  EXPECT_THAT(found.mend, HasSubstr("tcp_max_syn_backlog=4096"));
}

TEST(DoctorRules, openssl_that_offers_less) {
  const FakeMachine made;
  Machine machine = made.machine();
  machine.tls.tls13 = false;
  machine.tls.processor = "OPENSSL_ia32cap=0x0";
  made.remove("/roots.pem");
  machine.tls.providers = {"base", "fips"};
  const Findings found = examine_tls(machine);
  EXPECT_THAT(named(found, "OpenSSL").here, HasSubstr("Loaded providers: base, fips."));
  EXPECT_EQ(named(found, "OpenSSL").value, "OpenSSL 3.5.1 1 Jul 2025");
  for (const auto& [name, here, mend] : {
           std::tuple("TLS 1.3", "two round trips", "openssl.cnf"),
           std::tuple("AES in hardware",
                      "AES-GCM needs many times the CPU time, in the server and in the generator (OPENSSL_ia32cap=0x0)",
                      "-cpu host"),
           std::tuple("system roots", "No public server can be verified", "ca-certificates"),
       }) {
    EXPECT_EQ(named(found, name).health, Health::kLimits) << name;
    EXPECT_THAT(named(found, name).here, HasSubstr(here));
    EXPECT_THAT(named(found, name).mend, HasSubstr(mend));
  }
  machine.tls.processor = "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab";
  machine.tls.version = "OpenSSL 3.0.19 27 Jan 2026";
  EXPECT_THAT(named(examine_tls(machine), "AES in hardware").here, HasSubstr("uses from 3.1 on"));
}

TEST(DoctorRules, cores_with_two_threads) {
  const FakeMachine made;
  made.write("/sys/devices/system/cpu/smt/active", "1");
  EXPECT_EQ(named(made.findings(), "SMT siblings").health, Health::kUnknown);
  for (int cpu = 0; cpu < 4; ++cpu) {
    made.write(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu),
               fmt::format("{},{}\n", cpu % 2, cpu % 2 + 2));
  }
  const Finding found = named(made.findings(), "SMT siblings");
  EXPECT_EQ(found.health, Health::kLimits);
  EXPECT_EQ(found.value, "on, 2 cores");
  EXPECT_THAT(found.here, HasSubstr("CPUs 0,2 are one core"));
  EXPECT_EQ(found.mend, "echo off | sudo tee /sys/devices/system/cpu/smt/control");
}

TEST(DoctorRules, the_hypervisor_steals_time_during_the_measurement) {
  Machine machine = FakeMachine().machine();
  machine.before = CpuTimes{.busy = 100, .idle = 1000, .stolen = 0};
  machine.after = CpuTimes{.busy = 125, .idle = 1070, .stolen = 5};
  Findings findings = examine(machine);
  EXPECT_EQ(named(findings, "steal now").value, "5.00 %");
  EXPECT_EQ(named(findings, "steal now").health, Health::kLimits);
  machine.after->stolen = 50;
  EXPECT_EQ(named(examine(machine), "steal now").health, Health::kBad);
}

TEST(DoctorRules, other_programs_are_busy_during_the_measurement) {
  const FakeMachine made;
  Machine machine = made.machine();
  machine.before = CpuTimes{.busy = 100, .idle = 1000, .stolen = 0};
  machine.after = CpuTimes{.busy = 125, .idle = 1075, .stolen = 0};
  const Finding found = named(examine(machine), "busy now");
  EXPECT_EQ(found.value, "1.00 of 4 cores");
  EXPECT_EQ(found.health, Health::kLimits);
  EXPECT_THAT(found.mend, HasSubstr("top -b"));
  machine.after->busy += 100;
  EXPECT_EQ(named(examine(machine), "busy now").health, Health::kBad);
}

TEST(DoctorRules, limits_of_cgroups_v1) {
  const FakeMachine made;
  made.remove("/sys/fs/cgroup");
  made.write("/proc/self/cgroup", "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/docker/abc\n");
  made.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  made.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  made.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(named(made.findings(), "cgroup CPU quota").value, "none");
  EXPECT_EQ(named(made.findings(), "cgroup memory limit").value, "none");

  made.write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "200000\n");
  made.write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  made.write("/sys/fs/cgroup/cpu/docker/abc/cpu.stat", "nr_periods 90\nnr_throttled 7\n");
  made.write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "104857600\n");
  const Findings findings = made.findings();
  EXPECT_EQ(named(findings, "cgroup CPU quota").value, "2.00 CPUs");
  EXPECT_THAT(named(findings, "cgroup CPU quota").here, HasSubstr("(7 times so far)"));
  EXPECT_EQ(named(findings, "cgroup CPU quota").mend,
            "echo -1 | sudo tee /sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us");
  EXPECT_EQ(named(findings, "cgroup memory limit").value, "100 MiB");
  EXPECT_EQ(named(findings, "cgroup memory limit").health, Health::kBad);
}

TEST(DoctorRules, no_hardware_counters) {
  const FakeMachine made;
  made.remove("/sys/bus/event_source/devices/cpu");
  made.write("/sys/bus/event_source/devices/software/type", "1");
  const Finding found = named(made.findings(), "hardware counters");
  EXPECT_EQ(found.health, Health::kLimits);
  EXPECT_THAT(found.mend, HasSubstr("none here"));
}

TEST(DoctorRules, no_better_clock_to_choose) {
  const FakeMachine made;
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  made.write(folder + "current_clocksource", "acpi_pm");
  made.write(folder + "available_clocksource", "hpet acpi_pm");
  EXPECT_THAT(named(made.findings(), "clocksource").mend, HasSubstr("boot with"));
}

TEST(DoctorRules, ports_in_time_wait_are_free_sooner_on_loopback) {
  const FakeMachine made;
  made.write("/proc/sys/net/ipv4/tcp_tw_reuse", "2");
  EXPECT_EQ(named(made.findings(), "net.ipv4.tcp_tw_reuse").health, Health::kOk);
  EXPECT_THAT(named(made.findings(), "net.ipv4.tcp_tw_reuse").here, HasSubstr("to other hosts after 60 s"));
}

TEST(DoctorRules, a_kernel_that_lacks_something) {
  const FakeMachine made;
  Machine machine = made.machine();
  const std::string why = "Protocol not available";
  machine.probes = {why, why, why, why, why, why};
  const Findings findings = examine(machine);
  for (std::string_view name : {"io_uring", "epoll_pwait2", "SO_REUSEPORT", "SO_INCOMING_CPU", "IPv6 loopback"}) {
    EXPECT_THAT(named(findings, name),
                AllOf(Field(&Finding::health, Health::kLimits), Field(&Finding::value, "no"),
                      Field(&Finding::here, HasSubstr(why)), Field(&Finding::mend, Not(IsEmpty()))));
  }
  EXPECT_EQ(named(findings, "epoll").health, Health::kBad);
}

TEST(DoctorRules, the_command_for_io_uring_depends_on_what_forbids_it) {
  const FakeMachine made;
  Machine machine = made.machine();
  machine.probes.io_uring = "io_uring is forbidden here";
  EXPECT_THAT(named(examine(machine), "io_uring").mend, HasSubstr("seccomp=unconfined"));
  made.write("/proc/sys/kernel/io_uring_disabled", "2");
  EXPECT_EQ(named(examine(machine), "io_uring").mend, "sudo sysctl -w kernel.io_uring_disabled=0");
  made.write("/proc/sys/kernel/io_uring_disabled", "0");
  made.write("/proc/sys/kernel/osrelease", "5.10.0");
  EXPECT_THAT(named(examine(machine), "io_uring").mend, HasSubstr("linux-image-amd64"));
}

}  // namespace
}  // namespace peal::cli
