// SPDX-License-Identifier: BSD-3-Clause
// Ports, queues and what closed connections leave behind.
#include <algorithm>

#include <fmt/format.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

constexpr uint64_t kBacklog = 4096;        // what peal's listeners ask for
constexpr uint64_t kTimeWaitSeconds = 60;  // fixed in the kernel
constexpr std::string_view kRangePath = "/proc/sys/net/ipv4/ip_local_port_range";
constexpr std::string_view kLoopbackPath = "/sys/class/net/lo/mtu";

struct PortRange {
  uint64_t first;
  uint64_t last;
  uint64_t usable;  // without the reserved ones
};

std::optional<PortRange> port_range(const MachineFiles& files) {
  const std::optional<std::string> all = files.text(kRangePath);
  if (!all) return std::nullopt;
  const auto words = words_of(*all);
  if (words.size() != 2) return std::nullopt;
  const auto first = parse_number(words[0]);
  const auto last = parse_number(words[1]);
  if (!first || !last || *last < *first || *last > 65535) return std::nullopt;
  PortRange range{.first = *first, .last = *last, .usable = *last - *first + 1};
  const auto reserved = files.list("/proc/sys/net/ipv4/ip_local_reserved_ports").value_or(std::vector<uint32_t>());
  range.usable -= static_cast<uint64_t>(
      std::ranges::count_if(reserved, [&](uint32_t port) { return port >= range.first && port <= range.last; }));
  return range;
}

Finding ports(const Machine& machine) {
  Finding found{.name = "net.ipv4.ip_local_port_range", .what = "Ports that connections of this machine come from."};
  const std::optional<PortRange> range = port_range(machine.files);
  if (!range) return not_readable(std::move(found), kRangePath);
  found.value = fmt::format("{} {}", range->first, range->last);
  found.here = fmt::format("{} connections a source address to one target. More: peal load --source-addresses.",
                           grouped(range->usable));
  if (range->usable >= 50'000) return found;
  found.health = range->usable < 10'000 ? Health::kBad : Health::kLimits;
  found.mend = "sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'";
  return found;
}

Finding time_wait_reuse(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/ipv4/tcp_tw_reuse";
  Finding found{.name = "net.ipv4.tcp_tw_reuse", .what = "Whether a port in TIME_WAIT may be connected from again."};
  const auto mode = machine.files.number(kPath);
  if (!mode) return not_readable(std::move(found), kPath);
  const std::optional<PortRange> range = port_range(machine.files);
  if (!range) return not_readable(std::move(found), kRangePath);
  found.value = raw(*mode);
  const std::string rate = grouped(range->usable / kTimeWaitSeconds);
  if (*mode == 1) {
    found.here = fmt::format("After a second; up to {} short connections/s to one target.", grouped(range->usable));
    return found;
  }
  found.here = fmt::format(
      "{} after 60 s: above {}/s a target, short connections that the client closes first run "
      "out of ports.",
      *mode == 2 ? "On loopback after a second; to other hosts" : "Only", rate);
  if (*mode == 2) return found;
  found.health = Health::kLimits;
  found.mend = "sudo sysctl -w net.ipv4.tcp_tw_reuse=1";
  return found;
}

Finding fin_timeout(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/ipv4/tcp_fin_timeout";
  Finding found{.name = "net.ipv4.tcp_fin_timeout",
                .what = "Seconds in FIN_WAIT_2 for a peer that does not close. TIME_WAIT is 60 s whatever this says."};
  const auto seconds = machine.files.number(kPath);
  if (!seconds) return not_readable(std::move(found), kPath);
  found.value = raw(*seconds);
  found.here = fmt::format("A closed connection whose peer stays holds its port for {} s.", *seconds);
  if (*seconds <= 60) return found;
  found.health = Health::kLimits;
  found.mend = "sudo sysctl -w net.ipv4.tcp_fin_timeout=60";
  return found;
}

Finding time_wait_buckets(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/ipv4/tcp_max_tw_buckets";
  Finding found{.name = "net.ipv4.tcp_max_tw_buckets", .what = "Most sockets in TIME_WAIT at once."};
  const auto most = machine.files.number(kPath);
  if (!most) return not_readable(std::move(found), kPath);
  const std::optional<PortRange> range = port_range(machine.files);
  if (!range) return not_readable(std::move(found), kRangePath);
  found.value = raw(*most);
  found.here = fmt::format("Beyond {} closed connections are forgotten at once: a late segment may meet a new one.",
                           grouped(*most));
  if (*most >= range->usable) return found;
  found.health = Health::kLimits;
  found.mend = "sudo sysctl -w net.ipv4.tcp_max_tw_buckets=262144";
  return found;
}

Finding time_wait_now(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/net/sockstat";
  Finding found{.name = "sockets in TIME_WAIT", .what = "What earlier runs left behind."};
  const std::optional<std::string> line = machine.files.line_after(kPath, "TCP:");
  if (!line) return not_readable(std::move(found), kPath);
  const std::optional<PortRange> range = port_range(machine.files);
  if (!range) return not_readable(std::move(found), kRangePath);
  const auto words = words_of(*line);
  const auto key = std::ranges::find(words, "tw");
  const auto count = key == words.end() || key + 1 == words.end() ? std::nullopt : parse_number(*(key + 1));
  if (!count) return not_readable(std::move(found), kPath);
  found.value = raw(*count);
  found.here = fmt::format("They may hold {} of the {} ports to a target.", grouped(std::min(*count, range->usable)),
                           grouped(range->usable));
  if (*count * 2 < range->usable) return found;
  found.health = Health::kLimits;
  found.mend = fmt::format("sleep {}", kTimeWaitSeconds);
  return found;
}

Finding accept_queue(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/core/somaxconn";
  Finding found{.name = "net.core.somaxconn", .what = "Longest queue of connections that wait to be accepted."};
  const auto most = machine.files.number(kPath);
  if (!most) return not_readable(std::move(found), kPath);
  found.value = raw(*most);
  found.here = fmt::format("A listener queues {}; of a larger burst of connects the rest comes a second or more late.",
                           grouped(std::min(*most, kBacklog)));
  if (*most >= kBacklog) return found;
  found.health = *most <= 128 ? Health::kBad : Health::kLimits;
  found.mend = fmt::format("sudo sysctl -w net.core.somaxconn={}", kBacklog);
  return found;
}

Finding handshake_queue(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/ipv4/tcp_max_syn_backlog";
  constexpr std::string_view kCookiesPath = "/proc/sys/net/ipv4/tcp_syncookies";
  Finding found{.name = "net.ipv4.tcp_max_syn_backlog",
                .what = "Handshakes a listener remembers while it has no cookies."};
  const auto most = machine.files.number(kPath);
  if (!most) return not_readable(std::move(found), kPath);
  const auto cookies = machine.files.number(kCookiesPath);
  if (!cookies) return not_readable(std::move(found), kCookiesPath);
  found.value = raw(*most);
  if (*cookies != 0) {
    found.here = "Limits nothing: with tcp_syncookies on, handshakes beyond it are answered too.";
    return found;
  }
  found.here = fmt::format("tcp_syncookies is off: beyond about {} unfinished handshakes new ones are dropped.",
                           grouped(*most * 3 / 4));
  if (*most >= kBacklog) return found;
  found.health = Health::kLimits;
  found.mend = fmt::format("sudo sysctl -w net.ipv4.tcp_max_syn_backlog={}", kBacklog);
  return found;
}

Finding packet_queue(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/core/netdev_max_backlog";
  Finding found{.name = "net.core.netdev_max_backlog", .what = "Packets a CPU queues; loopback passes through here."};
  const auto most = machine.files.number(kPath);
  if (!most) return not_readable(std::move(found), kPath);
  found.value = raw(*most);
  found.here =
      fmt::format("More than {} packets at once to one CPU are dropped and sent again after 200 ms.", grouped(*most));
  if (*most >= 1000) return found;
  found.health = Health::kLimits;
  found.mend = "sudo sysctl -w net.core.netdev_max_backlog=10000";
  return found;
}

Finding connection_tracking(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/netfilter/nf_conntrack_max";
  Finding found{.name = "net.netfilter.nf_conntrack_max", .what = "Connections the firewall keeps in its table."};
  if (!machine.files.exists("/proc/sys/net/core")) return not_readable(std::move(found), kPath);
  const auto most = machine.files.number(kPath);
  if (!most) {
    found.value = "not loaded";
    found.here = "Limits nothing: connections are not tracked.";
    return found;
  }
  found.value = raw(*most);
  found.here =
      fmt::format("Beyond {} connections, closed ones included for minutes, packets are dropped.", grouped(*most));
  if (*most >= 262'144) return found;
  found.health = Health::kLimits;
  found.mend = "sudo sysctl -w net.netfilter.nf_conntrack_max=1048576";
  return found;
}

Finding loopback_mtu(const Machine& machine) {
  Finding found{.name = "MTU of lo", .what = "Largest packet on loopback."};
  const auto bytes = machine.files.number(kLoopbackPath);
  if (!bytes) return not_readable(std::move(found), kLoopbackPath);
  found.value = raw(*bytes);
  if (*bytes >= 65536) {
    found.here = "A message of 64 KiB is one packet.";
    return found;
  }
  found.health = Health::kLimits;
  found.here = fmt::format("A message of 64 KiB is {} packets: figures do not compare with the published ones.",
                           (65536 + *bytes - 1) / std::max<uint64_t>(*bytes, 1));
  found.mend = "sudo ip link set dev lo mtu 65536";
  return found;
}

constexpr Rule kSocketRules[] = {ports,        time_wait_reuse, fin_timeout,  time_wait_buckets,   time_wait_now,
                                 accept_queue, handshake_queue, packet_queue, connection_tracking, loopback_mtu};

}  // namespace

Findings examine_sockets(const Machine& machine) { return findings_of(kSocketRules, "Ports and queues", machine); }

}  // namespace peal::cli
