// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/parts/sim_network.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include <fmt/format.h>

#include <peal/base/assert.h>

namespace peal::detail {
namespace {

bool is_wildcard(const SocketAddress& address) {
  if (address.family() == AF_INET6) {
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr);
  }
  return address.family() == AF_INET && reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr == 0;
}

// Returns an IPv4 address in host byte order, or 0 for an address of another family.
uint32_t ipv4_of(const SocketAddress& address) {
  if (address.family() != AF_INET) return 0;
  return ntohl(reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr);
}

// True for 192.0.2.0/24 (TEST-NET-1, RFC 5737), which belongs to no host.
bool is_test_net(const SocketAddress& address) { return ipv4_of(address) >> 8 == 0xC00002; }
// True for addresses that cannot have streams: multicast (RFC 1112), broadcast and all others from 224.0.0.0 on.
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

// Returns 0 if the machine may bind to the address, otherwise an errno.
int check_host(const SimHost* host, const SocketAddress& address) {
  if (host == nullptr || is_local(address)) return 0;
  if (!host->on) return ENETDOWN;
  return is_wildcard(address) || ip_bytes(address) == ip_bytes(host->ip) ? 0 : EADDRNOTAVAIL;
}

// Returns the source address of a sender that is bound to no address: the address of its machine. If the sender has no
// machine, or if the target `to` is local, returns `to`.
SocketAddress source_for(const SimHost* host, const SocketAddress& to) {
  return host == nullptr || is_local(to) ? to : host->ip;
}

SocketAddress unnamed() {
  sockaddr any{};
  any.sa_family = AF_UNIX;
  return SocketAddress::from_kernel(&any, sizeof any.sa_family);
}

}  // namespace

SimNetwork::SimNetwork(uint64_t seed, const SimOptions& its_options, std::shared_ptr<SimFaultPlan> plan)
    : options(its_options), seed_(seed), random_state_(seed), faults_(seed, std::move(plan)) {
  PEAL_ASSERT(options.latency > Duration::zero(), "a network without latency ({} ns)", options.latency.count());
}

uint64_t SimNetwork::random(uint64_t bound) { return split_mix(random_state_ += kSplitMixStep) % bound; }

Duration SimNetwork::random_up_to(Duration most) {
  if (most <= Duration::zero()) return {};
  return Duration(static_cast<int64_t>(random(static_cast<uint64_t>(most.count()) + 1)));
}

// Draws one chance for a fault. Faults on the way between two hosts use the options of that path, faults of one host
// the options of the world.
SimNetwork::Drawn SimNetwork::draw(SimFaultKind kind, const SocketAddress& from, const SocketAddress& to,
                                   std::string_view file) {
  const bool on_the_way = (kind >= SimFaultKind::kReset && kind <= SimFaultKind::kSwallow) ||
                          (kind >= SimFaultKind::kLoseDatagram && kind <= SimFaultKind::kOvertakenDatagram);
  SimFault chance{kind, 0, now_ - kBegin, from, to, std::string(file)};
  if (!faults_.draw(chance, on_the_way ? options_for(from, to) : options)) return {};
  return chance;
}

Duration SimNetwork::lateness(SimFaultKind because, Duration most) {
  if (most <= Duration::zero()) return {};
  return Duration(static_cast<int64_t>(faults_.random_for(because, static_cast<uint64_t>(most.count()) + 1)));
}

void SimNetwork::recheck_links() {
  for (const auto& [id, link] : links) {
    for (SimEnd& end : link->ends) end.retransmit_if_waiting();
  }
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
  if (is_test_net(listener->address) || takes_no_stream(listener->address)) return EADDRNOTAVAIL;
  if (int error = check_host(listener->host.get(), listener->address); error != 0) return error;
  if (strikes(SimFaultKind::kNoFd, {}, listener->address)) return EMFILE;
  if (listener->address.is_ip() && listener->address.port() == 0) {
    listener->address.set_port(free_port(listener->address));
  }
  auto in_the_way = [&listener](const std::shared_ptr<SimListener>& other) {
    if (listener->host != other->host) return false;
    if (listener->options.reuse_port && other->options.reuse_port) return false;
    return covers(other->address, listener->address, other->options.v6_only) ||
           covers(listener->address, other->address, listener->options.v6_only);
  };
  if (std::ranges::any_of(listeners_, in_the_way)) return EADDRINUSE;
  listeners_.push_back(listener);
  return 0;
}

// Returns the listener that gets a connect to the address `to`, or null. As in the kernel, a listener on this exact
// address has precedence over one on the wildcard address. Among several listeners on the same address (SO_REUSEPORT),
// chance decides.
std::shared_ptr<SimListener> SimNetwork::listener_for(const SocketAddress& to, const SimHost* sender) {
  const SimHost* host = receiving_host(to, sender);
  std::vector<std::shared_ptr<SimListener>> exact;
  std::vector<std::shared_ptr<SimListener>> wild;
  for (const auto& listener : listeners_) {
    if (listener->host.get() != host) continue;
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

std::shared_ptr<SimEnd> SimNetwork::connect(const SocketAddress& to, const ConnectOptions& how,
                                            std::shared_ptr<const SimHost> host) {
  auto link = std::make_shared<SimLink>(*this, ++last_link_);
  links.emplace(link->id, link.get());
  std::shared_ptr<SimEnd> client = link->ends[0].self();
  ++stats.connects;
  trace("connects", *client, to.is_ip() ? to.port() : 0);
  client->peer = to;
  const bool any = is_wildcard(how.source) && how.source.family() == to.family();
  client->local = how.source.is_set() && !any ? how.source : to.is_unix() ? unnamed() : source_for(host.get(), to);
  if (any) client->local.set_port(how.source.port());
  client->host = std::move(host);
  if (client->local.is_ip() && (client->local.port() == 0 || !how.source.is_set())) {
    client->local.set_port(free_port(client->local));
  }
  set_buffers(*client, how.socket);
  client->connected = SimEnd::kConnecting;
  auto fails = [&](int error, Duration in) {
    after(in, [client, error] {
      client->connected = error;
      client->notify_owner();
    });
  };
  const SocketAddress& from = client->local;
  const Drawn no_fd = draw(SimFaultKind::kNoFd, {}, from);
  const Drawn refuse = draw(SimFaultKind::kRefuse, from, to);
  const Drawn unreachable = draw(SimFaultKind::kUnreachable, from, to);
  const Drawn swallow = draw(SimFaultKind::kSwallow, from, to);
  const bool heard = !hosts.is_cut(from, to) && !hosts.is_cut(to, from);
  if (strikes(no_fd)) {
    fails(EMFILE, {});
  } else if (!to.is_set()) {
    fails(EAFNOSUPPORT, {});
  } else if (is_test_net(from) && how.source.is_set()) {
    fails(EADDRNOTAVAIL, {});
  } else if (takes_no_stream(to) || from.family() != to.family() || !client->powered()) {
    fails(ENETUNREACH, {});
  } else if (int error = check_host(client->host.get(), from); error != 0) {
    fails(error, {});
  } else if (client->host && is_local(from) && !is_local(to)) {
    fails(EINVAL, {});
  } else if (heard && strikes(refuse)) {
    fails(ECONNREFUSED, sum_of(travel_time(from, to), travel_time(to, from)));
  } else if (strikes(unreachable)) {
    fails(EHOSTUNREACH, sum_of(travel_time(from, to), travel_time(to, from)));
  } else if (is_test_net(to) || strikes(swallow)) {
    fails(ETIMEDOUT, options_for(from, to).connect_give_up);
  } else {
    constexpr Duration kFirst = std::chrono::seconds(1);  // RFC 6298 2.1
    send_attempt({client, later(now_, options_for(from, to).connect_give_up), kFirst}, travel_time(from, to));
  }
  return client;
}

void SimNetwork::send_attempt(ConnectAttempt attempt, Duration in) {
  after(in, [this, attempt = std::move(attempt)] {
    if (!attempt.client->powered()) return;
    if (attempt.answer == SimEnd::kConnecting) {
      deliver_connect_request(attempt);
    } else {
      deliver_connect_answer(attempt);
    }
  });
}

void SimNetwork::retry_attempt(ConnectAttempt attempt) {
  if (now_ >= attempt.give_up) {
    attempt.client->connected = ETIMEDOUT;
    return attempt.client->notify_owner();
  }
  const Duration in = std::min(attempt.retry_in, attempt.give_up - now_);
  attempt.retry_in = sum_of(attempt.retry_in, attempt.retry_in);
  attempt.is_repeated = attempt.answer == 0;
  send_attempt(std::move(attempt), in);
}

void SimNetwork::deliver_connect_request(ConnectAttempt attempt) {
  const std::shared_ptr<SimEnd> client = attempt.client;
  const SocketAddress& to = client->peer;
  if (client->closed()) return;
  auto answer = [&](int error) {
    trace("is answered", *client, static_cast<uint64_t>(error));
    attempt.answer = error;
    send_attempt(std::move(attempt), travel_time(to, client->local));
  };
  if (hosts.is_cut(client->local, to) || hosts.is_cut(to, client->local)) return retry_attempt(std::move(attempt));
  const std::shared_ptr<SimListener> listener = listener_for(to, client->host.get());
  if (listener == nullptr) return answer(to.unix_path().empty() ? ECONNREFUSED : ENOENT);
  if (listener->waiting.size() > static_cast<size_t>(std::max(listener->options.backlog, 0))) {
    if (to.is_unix()) return answer(EAGAIN);
    return retry_attempt(std::move(attempt));
  }
  SimEnd& server = client->other();
  server.local = client->peer;
  server.peer = client->local;
  server.host = listener->host;
  set_buffers(server, listener->options.socket);
  listener->waiting.push_back(server.self());
  if (listener->owner != nullptr) listener->owner->slot_ready(SimOwner::Kind::kListener, listener->slot);
  answer(0);
}

void SimNetwork::deliver_connect_answer(const ConnectAttempt& attempt) {
  SimEnd& client = *attempt.client;
  // An answer that was already sent when the server's machine lost its power still arrives. If that answer is lost, the
  // machine cannot repeat it, and a restarted machine does not know the connection.
  const bool dead = attempt.is_repeated && attempt.answer == 0 && !client.other().powered();
  if (hosts.is_cut(client.peer, client.local) || (dead && !client.path_is_open())) return retry_attempt(attempt);
  client.connected = dead ? ECONNREFUSED : attempt.answer;
  if (attempt.answer == 0 && client.closed()) return client.other().fail(ECONNRESET);
  client.notify_owner();
}

int SimNetwork::bind(const std::shared_ptr<SimDatagrams>& socket) {
  if (!socket->address.is_set()) return EAFNOSUPPORT;
  if (is_test_net(socket->address)) return EADDRNOTAVAIL;
  if (int error = check_host(socket->host.get(), socket->address); error != 0) return error;
  if (strikes(SimFaultKind::kNoFd, {}, socket->address)) return EMFILE;
  if (socket->address.is_ip() && socket->address.port() == 0) socket->address.set_port(free_port(socket->address));
  auto in_the_way = [&socket](const auto& other) {
    if (socket->host != other->host) return false;
    return covers(other->address, socket->address, false) || covers(socket->address, other->address, false);
  };
  if (std::ranges::any_of(datagrams_, in_the_way)) return EADDRINUSE;
  datagrams_.push_back(socket);
  return 0;
}

int SimNetwork::send_datagram(const SimDatagrams& from, const SocketAddress& to, std::string_view bytes) {
  if (bytes.size() > Engine::kMostDatagramBytes) return EMSGSIZE;
  if (from.address.family() != to.family()) return EAFNOSUPPORT;
  if (from.host && !from.host->on) return 0;
  SocketAddress source = from.address;
  if (is_wildcard(source)) {
    source = source_for(from.host.get(), to);
    source.set_port(from.address.port());
  }
  if (from.host && is_local(source) && !is_local(to)) return EINVAL;
  trace("sends datagram", from.address.is_ip() ? from.address.port() : 0, bytes.size());
  ++stats.datagrams;
  if (is_test_net(to)) ++stats.datagrams_lost;
  const Drawn lose = draw(SimFaultKind::kLoseDatagram, source, to);
  const Drawn twice = draw(SimFaultKind::kDoubleDatagram, source, to);
  const Drawn overtaken = draw(SimFaultKind::kOvertakenDatagram, source, to);
  if (is_test_net(to) || strikes(lose)) return 0;
  for (int copies = strikes(twice) ? 2 : 1; copies > 0; --copies) {
    Duration on_its_way = travel_time(source, to);
    if (copies == 1 && strikes(overtaken)) {
      on_its_way = sum_of(on_its_way, lateness(SimFaultKind::kOvertakenDatagram, options_for(source, to).late_by));
    }
    after(on_its_way, [this, host = from.host, source, to, copy = std::string(bytes)] {
      deliver(receiving_host(to, host.get()), source, to, copy);
    });
  }
  return 0;
}

void SimNetwork::deliver(const SimHost* host, const SocketAddress& from, const SocketAddress& to,
                         const std::string& bytes) {
  auto found = std::ranges::find_if(
      datagrams_, [&](const auto& each) { return each->host.get() == host && covers(each->address, to, false); });
  if (found == datagrams_.end() || hosts.is_cut(from, to)) {
    ++stats.datagrams_lost;
    return;
  }
  SimDatagrams& socket = **found;
  // An empty receive buffer takes one datagram of any size, as in the kernel.
  const bool fits = socket.arrived_bytes + bytes.size() <= static_cast<size_t>(socket.buffers.receive_bytes);
  if (!fits && !socket.arrived.empty()) {
    ++stats.datagrams_lost;
    ++socket.dropped;
    return;
  }
  socket.arrived_bytes += bytes.size();
  socket.arrived.emplace_back(from, bytes);
  if (socket.owner != nullptr) socket.owner->slot_ready(SimOwner::Kind::kDatagrams, socket.slot);
}

void SimNetwork::trace(Line line) {
  constexpr uint64_t kPrime = 1'099'511'628'211;
  auto mix = [this](uint64_t word) { trace_hash_ = (trace_hash_ ^ word) * kPrime; };
  mix(static_cast<uint64_t>(line.when.time_since_epoch().count()));
  for (const char* letter = line.what; *letter != '\0'; ++letter) mix(static_cast<uint8_t>(*letter));
  for (const char letter : line.where) mix(static_cast<uint8_t>(letter));
  mix(line.id);
  mix(line.value);
  trace_.push_back(std::move(line));
  if (trace_.size() > kTraceLines) trace_.pop_front();
}

namespace {

std::string addresses_of(const SimEnd& end) {
  return fmt::format("{} -> {}", end.local.to_string(), end.peer.to_string());
}

}  // namespace

std::string SimNetwork::addresses_of(uint64_t end_id) const {
  if (const auto link = links.find(end_id / 2); link != links.end()) {
    return detail::addresses_of(link->second->ends[end_id % 2]);
  }
  const auto past = past_ends_.find(end_id);
  return past == past_ends_.end() ? std::string() : past->second;
}

void SimNetwork::forget(const SimLink& link) {
  links.erase(link.id);
  for (const SimEnd& end : link.ends) past_ends_.emplace(end.id(), detail::addresses_of(end));
  while (past_ends_.size() > kTraceLines) past_ends_.erase(past_ends_.begin());
}

std::string SimNetwork::trace_tail(size_t lines) const {
  std::string text;
  std::set<uint64_t> ends;
  for (size_t i = trace_.size() - std::min(lines, trace_.size()); i < trace_.size(); ++i) {
    const Line& line = trace_[i];
    text += fmt::format("{:>14.6f} s  {:>4} {} {}\n", in_seconds(line.when - kBegin), line.id, line.what,
                        line.where.empty() ? std::to_string(line.value) : line.where);
    if (line.is_end) ends.insert(line.id);
  }
  if (!ends.empty()) text += "  ends of connections, each with its own address and its peer's:\n";
  for (const uint64_t end : ends) text += fmt::format("{:>22} {}\n", end, addresses_of(end));
  return text;
}

}  // namespace peal::detail
