// SPDX-License-Identifier: BSD-3-Clause
#include <load/remote/machine_facts.h>

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include <load/duel/cpu_pins.h>
#include <load/duel/server_process.h>
#include <peal/base/socket_address.h>

namespace peal::load {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

// Returns the first IPv4 address of a network interface that is up and is not the loopback interface. If there is none,
// returns the first IPv6 address of such an interface.
std::optional<std::string> address_of_an_interface() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
      const bool leads = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
      if (!leads || each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
      const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      std::string address = host_of(SocketAddress::from_kernel(each->ifa_addr, size));
      if (!address.contains('%')) return address;  // an address with % is valid only on one link
    }
  }
  return std::nullopt;
}

Duration of_ticks(uint64_t ticks, long ticks_per_second) {
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(1)) / ticks_per_second * static_cast<int64_t>(ticks);
}

Duration of_timeval(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

std::optional<std::string> server_in(std::string_view ssh_connection) {
  std::istringstream text{std::string(ssh_connection)};
  std::array<std::string, 4> words;
  for (std::string& word : words) {
    if (!(text >> word)) return std::nullopt;
  }
  const bool is_v6 = words[2].contains(':');
  if (!SocketAddress::parse(fmt::format("{}{}{}:0", is_v6 ? "[" : "", words[2], is_v6 ? "]" : ""))) return std::nullopt;
  return words[2];
}

MachineFacts facts_of_this_machine() {
  MachineFacts facts;
  const char* const ssh = std::getenv("SSH_CONNECTION");
  std::optional<std::string> address = server_in(ssh != nullptr ? ssh : "");
  if (!address) address = address_of_an_interface();
  facts.address = address.value_or("127.0.0.1");
  facts.cpus = usable_cpus();
  utsname name{};
  if (::uname(&name) == 0) facts.kernel = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  facts.processor = processor_name();
  facts.boot = first_line("/proc/sys/kernel/random/boot_id");
  return facts;
}

std::optional<MachineClocks> parse_machine_clocks(std::string_view text, long ticks_per_second) {
  std::istringstream words{std::string(text)};
  std::string name;
  // The text begins with the word "cpu" and these CPU times, in clock ticks: user, nice, system, idle, iowait, irq,
  // softirq, steal.
  std::array<uint64_t, 8> ticks{};
  if (!(words >> name) || name != "cpu") return std::nullopt;
  for (uint64_t& each : ticks) {
    if (!(words >> each)) return std::nullopt;
  }
  const auto [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
  return MachineClocks{.at = {},
                       .busy = of_ticks(user + nice + system + irq + softirq, ticks_per_second),
                       .stolen = of_ticks(steal, ticks_per_second)};
}

std::optional<MachineClocks> clocks_of_this_machine() {
  std::optional<MachineClocks> clocks = parse_machine_clocks(first_line("/proc/stat"), ::sysconf(_SC_CLK_TCK));
  if (!clocks) return std::nullopt;
  clocks->at = monotonic_now();
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (::getrusage(static_cast<__rusage_who>(who), &usage) != 0) return std::nullopt;
    clocks->own += of_timeval(usage.ru_utime) + of_timeval(usage.ru_stime);
  }
  return clocks;
}

}  // namespace peal::load
