// SPDX-License-Identifier: BSD-3-Clause
// Rules about ports, about queues, and about sockets in TIME_WAIT, which closed connections leave behind.
#include <algorithm>

#include <fmt/format.h>

#include <cli/doctor/doctor_rules.h>

namespace peal::cli {
namespace {

constexpr uint64_t kBacklog = 4096;        // the backlog that peal's listeners ask for
constexpr uint64_t kTimeWaitSeconds = 60;  // how long a socket stays in TIME_WAIT; a constant of the kernel
constexpr std::string_view kRangePath = "/proc/sys/net/ipv4/ip_local_port_range";

struct PortRange {
  uint64_t first;
  uint64_t last;
  uint64_t usable;  // how many of these ports are not reserved
};

PortRange port_range(const Machine& machine) {
  const std::string all = needed(machine.files.text(kRangePath), kRangePath);
  const auto words = words_of(all);
  if (words.size() != 2) throw NotReadable(kRangePath);
  const uint64_t first = needed(parse_number(words[0]), kRangePath);
  const uint64_t last = needed(parse_number(words[1]), kRangePath);
  if (last < first || last > 65535) throw NotReadable(kRangePath);
  PortRange range{.first = first, .last = last, .usable = last - first + 1};
  const auto reserved =
      machine.files.list("/proc/sys/net/ipv4/ip_local_reserved_ports").value_or(std::vector<uint32_t>());
  range.usable -= static_cast<uint64_t>(
      std::ranges::count_if(reserved, [&](uint32_t port) { return port >= range.first && port <= range.last; }));
  return range;
}

Judged ports(const Machine& machine) {
  const PortRange range = port_range(machine);
  return {.value = fmt::format("{} {}", range.first, range.last),
          .here = fmt::format("At most {} connections from one source address to one target. For more: peal load "
                              "--source-addresses.",
                              grouped(range.usable)),
          .health = rated(range.usable, 50'000, 10'000),
          .mend = "sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535'"};
}

Judged time_wait_reuse(const Machine& machine) {
  const uint64_t mode = needed_number(machine, "/proc/sys/net/ipv4/tcp_tw_reuse");
  const PortRange range = port_range(machine);
  if (mode == 1) {
    return {.value = raw(mode),
            .here = fmt::format("A port is free again after one second: up to {} short connections/s to one target.",
                                grouped(range.usable))};
  }
  return {.value = raw(mode),
          .here = fmt::format("{} after 60 s. If the client closes first, short connections run out of ports above "
                              "{}/s to one target.",
                              mode == 2 ? "A port is free again: on loopback after one second, to other hosts"
                                        : "A port is free again only",
                              grouped(range.usable / kTimeWaitSeconds)),
          .health = mode == 2 ? Health::kOk : Health::kLimits,
          .mend = "sudo sysctl -w net.ipv4.tcp_tw_reuse=1"};
}

Judged fin_timeout(const Machine& machine) {
  const uint64_t seconds = needed_number(machine, "/proc/sys/net/ipv4/tcp_fin_timeout");
  return {.value = raw(seconds),
          .here = fmt::format("A closed connection holds its port for {} s if the peer does not close its own side.",
                              seconds),
          .health = seconds <= 60 ? Health::kOk : Health::kLimits,
          .mend = "sudo sysctl -w net.ipv4.tcp_fin_timeout=60"};
}

Judged time_wait_buckets(const Machine& machine) {
  const uint64_t most = needed_number(machine, "/proc/sys/net/ipv4/tcp_max_tw_buckets");
  return {.value = raw(most),
          .here = fmt::format("Beyond {} such sockets, closed connections are forgotten at once. A late packet may "
                              "then reach a new one.",
                              grouped(most)),
          .health = rated(most, port_range(machine).usable),
          .mend = "sudo sysctl -w net.ipv4.tcp_max_tw_buckets=262144"};
}

Judged time_wait_now(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/net/sockstat";
  const std::string line = needed(machine.files.line_after(kPath, "TCP:"), kPath);
  const PortRange range = port_range(machine);
  const auto words = words_of(line);
  const auto key = std::ranges::find(words, "tw");
  if (key == words.end() || key + 1 == words.end()) throw NotReadable(kPath);
  const uint64_t count = needed(parse_number(*(key + 1)), kPath);
  return {.value = raw(count),
          .here = fmt::format("They may occupy {} of the {} ports to one target.",
                              grouped(std::min(count, range.usable)), grouped(range.usable)),
          .health = count * 2 < range.usable ? Health::kOk : Health::kLimits,
          .mend = fmt::format("sleep {}", kTimeWaitSeconds)};
}

Judged accept_queue(const Machine& machine) {
  const uint64_t most = needed_number(machine, "/proc/sys/net/core/somaxconn");
  return {.value = raw(most),
          .here = fmt::format("A listener queues at most {} connections. If more come at once, the others are a second "
                              "or more late.",
                              grouped(std::min(most, kBacklog))),
          .health = rated(most, kBacklog, 129),
          .mend = fmt::format("sudo sysctl -w net.core.somaxconn={}", kBacklog)};
}

Judged handshake_queue(const Machine& machine) {
  const uint64_t most = needed_number(machine, "/proc/sys/net/ipv4/tcp_max_syn_backlog");
  if (needed_number(machine, "/proc/sys/net/ipv4/tcp_syncookies") != 0) {
    return {.value = raw(most),
            .here = "Limits nothing: tcp_syncookies is on, so handshakes beyond this number are answered too."};
  }
  return {.value = raw(most),
          .here = fmt::format("tcp_syncookies is off: beyond about {} unfinished handshakes, new ones are dropped.",
                              grouped(most * 3 / 4)),
          .health = rated(most, kBacklog),
          .mend = fmt::format("sudo sysctl -w net.ipv4.tcp_max_syn_backlog={}", kBacklog)};
}

Judged packet_queue(const Machine& machine) {
  const uint64_t most = needed_number(machine, "/proc/sys/net/core/netdev_max_backlog");
  return {.value = raw(most),
          .here = fmt::format(
              "If more than {} packets wait for one CPU, the others are dropped and sent again after 200 ms.",
              grouped(most)),
          .health = rated(most, 1000),
          .mend = "sudo sysctl -w net.core.netdev_max_backlog=10000"};
}

Judged connection_tracking(const Machine& machine) {
  constexpr std::string_view kPath = "/proc/sys/net/netfilter/nf_conntrack_max";
  if (!machine.files.exists("/proc/sys/net/core")) throw NotReadable(kPath);
  const auto most = machine.files.number(kPath);
  if (!most) return {.value = "not loaded", .here = "Limits nothing: connections are not tracked."};
  return {
      .value = raw(*most),
      .here = fmt::format("Beyond {} connections, packets are dropped. Closed connections count for some minutes too.",
                          grouped(*most)),
      .health = rated(*most, 262'144),
      .mend = "sudo sysctl -w net.netfilter.nf_conntrack_max=1048576"};
}

Judged loopback_mtu(const Machine& machine) {
  const uint64_t bytes = needed_number(machine, "/sys/class/net/lo/mtu");
  if (bytes >= 65536) return {.value = raw(bytes), .here = "A message of 64 KiB fits into one packet."};
  return {
      .value = raw(bytes),
      .here = fmt::format("A message of 64 KiB takes {} packets: figures cannot be compared with the published ones.",
                          (65536 + bytes - 1) / std::max<uint64_t>(bytes, 1)),
      .health = Health::kLimits,
      .mend = "sudo ip link set dev lo mtu 65536"};
}

constexpr Rule kSocketRules[] = {
    {"net.ipv4.ip_local_port_range", "The local ports of connections that this machine opens.", ports},
    {"net.ipv4.tcp_tw_reuse", "Whether a port in TIME_WAIT can be used for a new connection.", time_wait_reuse},
    {"net.ipv4.tcp_fin_timeout",
     "How long a closed connection waits for the peer to close (FIN_WAIT_2). TIME_WAIT is always 60 s.", fin_timeout},
    {"net.ipv4.tcp_max_tw_buckets", "The most sockets that may be in TIME_WAIT.", time_wait_buckets},
    {"sockets in TIME_WAIT", "Sockets of closed connections that still hold their ports.", time_wait_now},
    {"net.core.somaxconn", "The longest queue of connections that wait to be accepted.", accept_queue},
    {"net.ipv4.tcp_max_syn_backlog", "The most unfinished handshakes that a listener remembers without SYN cookies.",
     handshake_queue},
    {"net.core.netdev_max_backlog", "The most packets that wait for one CPU, those of loopback too.", packet_queue},
    {"net.netfilter.nf_conntrack_max", "The most connections in the firewall's table.", connection_tracking},
    {"MTU of lo", "The largest packet on loopback, in bytes.", loopback_mtu},
};

}  // namespace

Findings examine_sockets(const Machine& machine) { return findings_of(kSocketRules, "Ports and queues", machine); }

}  // namespace peal::cli
