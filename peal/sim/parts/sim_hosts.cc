// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/parts/sim_hosts.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace peal::detail {

SocketAddress parse_ip(std::string_view text) {
  const bool six = text.find(':') != std::string_view::npos;
  const std::string host(text);
  const Result<SocketAddress> parsed = SocketAddress::parse(six ? "[" + host + "]:0" : host + ":0");
  if (!parsed || !parsed->is_ip()) throw std::invalid_argument("\"" + host + "\" is no IP address");
  return *parsed;
}

std::string_view ip_bytes(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    const in_addr& ip = reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr;
    return {reinterpret_cast<const char*>(&ip), sizeof ip};
  }
  if (address.family() != AF_INET6) return {};
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr;
  return {reinterpret_cast<const char*>(&ip), sizeof ip};
}

bool is_local(const SocketAddress& address) {
  const std::string_view ip = ip_bytes(address);
  if (ip.size() == sizeof(in_addr)) return ip.front() == 127;
  return ip.empty() || IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(ip.data()));
}

TimePoint SimHost::at(TimePoint world) const {
  const Duration passed = world - since_;
  if (rate_ == 1) return later(base_, passed);
  const double its_own = static_cast<double>(passed.count()) * rate_;
  return later(base_, Duration(std::llround(std::min(its_own, static_cast<double>(kLongest.count())))));
}

TimePoint SimHost::local(TimePoint world) const { return last_ = std::max(last_, at(world)); }

TimePoint SimHost::world(TimePoint local_time) const {
  if (local_time == kNever) return kNever;
  if (local_time <= base_) return since_;
  const double passed = static_cast<double>((local_time - base_).count()) / rate_;
  if (passed > static_cast<double>(kLongest.count())) return kNever;
  TimePoint when = later(since_, rate_ == 1 ? local_time - base_ : Duration(std::llround(passed)));
  while (at(when) < local_time) ++when;
  return when;
}

void SimHost::set_clock(TimePoint world, Duration ahead, double its_rate) {
  since_ = world;
  base_ = world + ahead;
  rate_ = its_rate;
}

void SimHosts::add(std::shared_ptr<SimHost> host) {
  std::erase_if(hosts_, [&host](const auto& each) { return ip_bytes(each->ip) == ip_bytes(host->ip); });
  hosts_.push_back(std::move(host));
}

void SimHosts::remove(const SimHost& host) {
  std::erase_if(hosts_, [&host](const auto& each) { return each.get() == &host; });
}

SimHost* SimHosts::at(const SocketAddress& address) const {
  if (hosts_.empty()) return nullptr;
  const auto found = std::ranges::find(hosts_, ip_bytes(address), [](const auto& host) { return ip_bytes(host->ip); });
  return found == hosts_.end() ? nullptr : found->get();
}

SimHosts::Path& SimHosts::path(const SocketAddress& from, const SocketAddress& to) {
  return paths_[{std::string(ip_bytes(from)), std::string(ip_bytes(to))}];
}

const SimHosts::Path* SimHosts::find(const SocketAddress& from, const SocketAddress& to) const {
  if (paths_.empty()) return nullptr;
  const auto found = paths_.find({std::string(ip_bytes(from)), std::string(ip_bytes(to))});
  return found == paths_.end() ? nullptr : &found->second;
}

const SimOptions& SimHosts::options(const SocketAddress& from, const SocketAddress& to,
                                    const SimOptions& otherwise) const {
  const Path* between = find(from, to);
  return between == nullptr || !between->options ? otherwise : *between->options;
}

void SimHosts::heal() {
  for (auto& [between, path] : paths_) path.cut = false;
}

bool SimHosts::is_cut(const SocketAddress& from, const SocketAddress& to) const {
  const SimHost* host = at(to);
  if (host != nullptr && !host->on) return true;
  const Path* between = find(from, to);
  return between != nullptr && between->cut;
}

}  // namespace peal::detail
