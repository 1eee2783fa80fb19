// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/parts/sim_network.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include <peal/base/assert.h>

namespace peal::detail {
namespace {

constexpr size_t kDatagramBufferBytes = 212'992;  // net.core.rmem_default

bool is_wildcard(const SocketAddress& address) {
  if (address.family() == AF_INET6) {
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr);
  }
  return address.family() == AF_INET && reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr == 0;
}

// Of an IPv4 address, in host byte order; 0 for others.
uint32_t ipv4_of(const SocketAddress& address) {
  if (address.family() != AF_INET) return 0;
  return ntohl(reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr);
}

// TEST-NET-1, RFC 5737.
bool is_nobodys(const SocketAddress& address) { return ipv4_of(address) >> 8 == 0xC00002; }
// Broadcast and multicast (RFC 1112) addresses take no streams.
bool takes_no_stream(const SocketAddress& address) { return ipv4_of(address) >= 0xE0000000; }

bool takes_family(const SocketAddress& bound, const SocketAddress& to, bool v6_only) {
  return bound.family() == to.family() || (bound.family() == AF_INET6 && to.family() == AF_INET && !v6_only);
}

bool covers(const SocketAddress& bound, const SocketAddress& to, bool v6_only) {
  if (!bound.is_ip() || !to.is_ip()) return bound == to;
  if (bound.port() != to.port()) return false;
  return bound == to || (is_wildcard(bound) && takes_family(bound, to, v6_only));
}

void set_buffers(SimEnd& end, const SocketOptions& options) {
  end.set_send_buffer(static_cast<uint32_t>(options.send_buffer_bytes));
  end.set_receive_buffer(static_cast<uint32_t>(options.receive_buffer_bytes));
}

SocketAddress unnamed() {
  sockaddr any{};
  any.sa_family = AF_UNIX;
  return SocketAddress::from_kernel(&any, sizeof any.sa_family);
}

}  // namespace

SimNetwork::SimNetwork(uint64_t seed, const SimOptions& its_options)
    : options(its_options), seed_(seed), random_state_(seed) {
  PEAL_ASSERT(options.latency > Duration::zero(), "a network without latency ({} ns)", options.latency.count());
}

// SplitMix64.
uint64_t SimNetwork::random(uint64_t bound) {
  uint64_t value = random_state_ += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return (value ^ (value >> 31)) % bound;
}

Duration SimNetwork::random_up_to(Duration most) {
  if (most <= Duration::zero()) return {};
  return Duration(static_cast<int64_t>(random(static_cast<uint64_t>(most.count()) + 1)));
}

bool SimNetwork::chance(double probability) {
  constexpr uint64_t kResolution = 1 << 24;
  return probability > 0 && static_cast<double>(random(kResolution)) < probability * kResolution;
}

void SimNetwork::advance_to(TimePoint when) {
  PEAL_ASSERT(when != kNever, "the clock would leave {} for ever", now_.time_since_epoch().count());
  now_ = std::max(now_, when);
  run_due();
}

void SimNetwork::run_due() {
  while (!due_.empty() && due_.begin()->first <= now_) {
    auto event = due_.extract(due_.begin());
    event.mapped()();
  }
}

uint16_t SimNetwork::free_port(const SocketAddress& address) {
  constexpr uint16_t kFirst = 32'768;
  constexpr uint16_t kLast = 60'999;
  SocketAddress candidate = address;
  auto taken = [&candidate](const auto& each) {
    return each->address.is_ip() && each->address.port() == candidate.port();
  };
  do {
    candidate.set_port(next_port_);
    next_port_ = next_port_ == kLast ? kFirst : static_cast<uint16_t>(next_port_ + 1);
  } while (std::ranges::any_of(listeners_, taken) || std::ranges::any_of(datagrams_, taken));
  return candidate.port();
}

int SimNetwork::listen(const std::shared_ptr<SimListener>& listener) {
  if (!listener->address.is_set()) return EAFNOSUPPORT;
  if (is_nobodys(listener->address) || takes_no_stream(listener->address)) return EADDRNOTAVAIL;
  if (chance(options.no_fd)) {
    ++stats.no_fd;
    return EMFILE;
  }
  if (listener->address.is_ip() && listener->address.port() == 0) {
    listener->address.set_port(free_port(listener->address));
  }
  auto in_the_way = [&listener](const std::shared_ptr<SimListener>& other) {
    if (listener->options.reuse_port && other->options.reuse_port) return false;
    return covers(other->address, listener->address, other->options.v6_only) ||
           covers(listener->address, other->address, listener->options.v6_only);
  };
  if (std::ranges::any_of(listeners_, in_the_way)) return EADDRINUSE;
  listeners_.push_back(listener);
  return 0;
}

// The most exact ones win, as in the kernel; several that share an address take turns by chance.
std::shared_ptr<SimListener> SimNetwork::listener_for(const SocketAddress& to) {
  std::vector<std::shared_ptr<SimListener>> exact;
  std::vector<std::shared_ptr<SimListener>> wild;
  for (const auto& listener : listeners_) {
    if (listener->address == to) {
      exact.push_back(listener);
    } else if (covers(listener->address, to, listener->options.v6_only)) {
      wild.push_back(listener);
    }
  }
  const auto& found = exact.empty() ? wild : exact;
  if (found.empty()) return nullptr;
  return found.size() == 1 ? found.front() : found[random(found.size())];
}

std::shared_ptr<SimEnd> SimNetwork::connect(const SocketAddress& to, const ConnectOptions& how) {
  auto link = std::make_shared<SimLink>(*this, ++last_link_);
  std::shared_ptr<SimEnd> client = link->ends[0].self();
  ++stats.connects;
  trace("connects", client->id(), to.is_ip() ? to.port() : 0);
  client->peer = to;
  client->local = how.source.is_set() ? how.source : to.is_ip() ? to : unnamed();
  if (client->local.is_ip() && (client->local.port() == 0 || !how.source.is_set())) {
    client->local.set_port(free_port(client->local));
  }
  set_buffers(*client, how.socket);
  client->connected = SimEnd::kConnecting;
  auto fails = [&](int error, Duration in) {
    after(in, [client, error] {
      client->connected = error;
      client->notify();
    });
  };
  auto by_fault = [&](double probability) {
    if (!chance(probability)) return false;
    ++stats.connects_failed;
    return true;
  };
  if (chance(options.no_fd)) {
    ++stats.no_fd;
    fails(EMFILE, {});
  } else if (!to.is_set()) {
    fails(EAFNOSUPPORT, {});
  } else if (is_nobodys(client->local) && how.source.is_set()) {
    fails(EADDRNOTAVAIL, {});
  } else if (takes_no_stream(to)) {
    fails(ENETUNREACH, {});
  } else if (by_fault(options.refuse)) {
    fails(ECONNREFUSED, 2 * travel_time());
  } else if (by_fault(options.unreachable)) {
    fails(EHOSTUNREACH, 2 * travel_time());
  } else if (is_nobodys(to) || by_fault(options.swallow)) {
    fails(ETIMEDOUT, options.connect_give_up);
  } else {
    after(travel_time(),
          [this, client, give_up = now_ + options.connect_give_up] { deliver_connect_request(client, give_up); });
  }
  return client;
}

void SimNetwork::deliver_connect_request(const std::shared_ptr<SimEnd>& client, TimePoint give_up) {
  constexpr Duration kAgain = std::chrono::seconds(1);  // RFC 6298 2.1
  if (client->closed()) return;
  auto answer = [&](int error) {
    trace("is answered", client->id(), static_cast<uint64_t>(error));
    after(travel_time(), [client, error] {
      client->connected = error;
      if (error == 0 && client->closed()) return client->other().fail(ECONNRESET);
      client->notify();
    });
  };
  const SocketAddress& to = client->peer;
  const std::shared_ptr<SimListener> listener = listener_for(to);
  if (listener == nullptr) return answer(to.unix_path().empty() ? ECONNREFUSED : ENOENT);
  if (listener->waiting.size() > static_cast<size_t>(std::max(listener->options.backlog, 0))) {
    if (to.is_unix()) return answer(EAGAIN);
    if (now_ >= give_up) return answer(ETIMEDOUT);
    return after(kAgain, [this, client, give_up] { deliver_connect_request(client, give_up); });
  }
  SimEnd& server = client->other();
  server.local = client->peer;
  server.peer = client->local;
  set_buffers(server, listener->options.socket);
  listener->waiting.push_back(server.self());
  if (listener->owner != nullptr) listener->owner->slot_ready(SimOwner::Kind::kListener, listener->slot);
  answer(0);
}

int SimNetwork::bind(const std::shared_ptr<SimDatagrams>& socket) {
  if (!socket->address.is_set()) return EAFNOSUPPORT;
  if (is_nobodys(socket->address)) return EADDRNOTAVAIL;
  if (chance(options.no_fd)) {
    ++stats.no_fd;
    return EMFILE;
  }
  if (socket->address.is_ip() && socket->address.port() == 0) socket->address.set_port(free_port(socket->address));
  auto in_the_way = [&socket](const auto& other) {
    return covers(other->address, socket->address, false) || covers(socket->address, other->address, false);
  };
  if (std::ranges::any_of(datagrams_, in_the_way)) return EADDRINUSE;
  datagrams_.push_back(socket);
  return 0;
}

int SimNetwork::send_datagram(const SimDatagrams& from, const SocketAddress& to, std::string_view bytes) {
  if (bytes.size() > Engine::kMostDatagramBytes) return EMSGSIZE;
  if (from.address.family() != to.family()) return EAFNOSUPPORT;
  SocketAddress source = from.address;
  if (is_wildcard(source)) {
    source = to;
    source.set_port(from.address.port());
  }
  trace("sends datagram", from.address.is_ip() ? from.address.port() : 0, bytes.size());
  ++stats.datagrams;
  if (is_nobodys(to) || chance(options.lose_datagram)) {
    ++stats.datagrams_lost;
    return 0;
  }
  const bool doubled = chance(options.double_datagram);
  stats.datagrams_doubled += doubled;
  for (int copies = doubled ? 2 : 1; copies > 0; --copies) {
    Duration on_its_way = travel_time();
    if (chance(options.overtaken_datagram)) {
      ++stats.datagrams_overtaken;
      on_its_way += random_up_to(options.late_by);
    }
    after(on_its_way, [this, source, to, copy = std::string(bytes)] { deliver(source, to, copy); });
  }
  return 0;
}

void SimNetwork::deliver(const SocketAddress& from, const SocketAddress& to, const std::string& bytes) {
  auto found = std::ranges::find_if(datagrams_, [&to](const auto& each) { return covers(each->address, to, false); });
  if (found == datagrams_.end() || (*found)->arrived_bytes + bytes.size() > kDatagramBufferBytes) {
    ++stats.datagrams_lost;
    return;
  }
  SimDatagrams& socket = **found;
  socket.arrived_bytes += bytes.size();
  socket.arrived.emplace_back(from, bytes);
  if (socket.owner != nullptr) socket.owner->slot_ready(SimOwner::Kind::kDatagrams, socket.slot);
}

void SimNetwork::trace(const char* what, uint64_t id, uint64_t value) {
  constexpr uint64_t kPrime = 1'099'511'628'211;
  auto mix = [this](uint64_t word) { trace_hash_ = (trace_hash_ ^ word) * kPrime; };
  mix(static_cast<uint64_t>(now_.time_since_epoch().count()));
  for (const char* letter = what; *letter != '\0'; ++letter) mix(static_cast<uint8_t>(*letter));
  mix(id);
  mix(value);
  trace_.push_back({now_, what, id, value});
  if (trace_.size() > kTraceLines) trace_.pop_front();
}

std::string SimNetwork::trace_tail(size_t lines) const {
  std::string text;
  for (size_t i = trace_.size() - std::min(lines, trace_.size()); i < trace_.size(); ++i) {
    const Line& line = trace_[i];
    text +=
        fmt::format("{:>14.6f} s  {:>4} {} {}\n", std::chrono::duration<double>(line.when.time_since_epoch()).count(),
                    line.id, line.what, line.value);
  }
  return text;
}

}  // namespace peal::detail
