// SPDX-License-Identifier: BSD-3-Clause
// Every answer is given from a timer of no delay: not inside resolve(), nor inside c-ares, which may not be destroyed
// from its own calls; and what a callback throws is the loop's to survive.
#include <peal/net/resolver.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <peal/loop/on_loop.h>
#include <peal/net/parts/resolver_channel.h>

namespace peal {
namespace {

// Unset for a name.
Result<SocketAddress> literal_address(std::string_view host, uint16_t port) {
  if (is_host_name(host)) return SocketAddress();
  if (host.starts_with("unix:")) return SocketAddress::parse(host);
  const bool bare_v6 = !host.starts_with('[') && host.find(':') != host.npos;
  return SocketAddress::parse((bare_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" +
                              std::to_string(port));
}

Result<Resolver::Addresses> find_name(const NameTable& names, std::string host, uint16_t port) {
  if (host.ends_with('.')) host.pop_back();
  std::ranges::transform(host, host.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  const auto found = names.find(host);
  if (found == names.end() || found->second.empty()) return fail(Trouble::kHostNotFound);
  Resolver::Addresses addresses = found->second;
  for (SocketAddress& address : addresses) {
    if (address.is_ip()) address.set_port(port);
  }
  return addresses;
}

}  // namespace

Result<HostPort> HostPort::parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return fail(Trouble::kNoPort);
  HostPort parts{.host = std::string(text.substr(0, colon))};
  if (!is_host_name(parts.host)) return fail(Trouble::kBadAddress);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, parts.port);
  if (error != std::errc{} || stop != end) return fail(Trouble::kBadPort);
  return parts;
}

Resolver::Resolver(Loop& loop, const ResolverOptions& options)
    : loop_(&loop), mailbox_(loop.mailbox()), options_(options) {}

// Once the loop has ended nothing refers to this any more: its timers are gone and its engine has shut.
Resolver::~Resolver() {
  detail::on_loop_and_wait(*mailbox_, [this](Loop& loop) {
    for (auto& [id, lookup] : lookups_) loop.cancel(lookup.timer);
    channel_.reset();
  });
}

Result<ResolveId> Resolver::resolve(std::string_view host, uint16_t port, const ResolveOptions& options,
                                    Answer on_answer) {
  if (!mailbox_->open()) return fail(Trouble::kLoopStopped);
  Result<SocketAddress> literal = literal_address(host, port);
  if (!literal) return std::unexpected(literal.error());
  if (std::max(lookups_.size(), channel_ ? channel_->questions() : 0) >= options_.most_pending) {
    ++stats_.refused;
    return fail(Trouble::kTooManyLookups);
  }
  const auto id = static_cast<ResolveId>(++last_id_);
  const TimerId timer = loop_->after(Duration::zero(), [this, id] { start(id); });
  if (!timer) return fail(Trouble::kLoopStopped);
  const TimePoint deadline = later(loop_->now(), options.timeout);
  lookups_.emplace(id, Lookup{std::string(host), port, *literal, deadline, std::move(on_answer), timer});
  ++stats_.lookups;
  return id;
}

void Resolver::start(ResolveId id) {
  Lookup& lookup = lookups_.at(id);
  lookup.timer = {};
  if (lookup.literal.is_set()) return finish(id, Addresses{lookup.literal});
  const NameTable* names = loop_->engine().names();
  if (names == nullptr) return ask(id, lookup);
  finish(id, find_name(*names, lookup.host, lookup.port));
}

void Resolver::ask(ResolveId id, Lookup& lookup) {
  if (!channel_) {
    auto channel = detail::ResolverChannel::make(*loop_, options_);
    if (!channel) return finish(id, std::unexpected(channel.error()));
    channel_ = std::move(*channel);
  }
  lookup.timer = loop_->at(lookup.deadline, [this, id] {
    ++stats_.timeouts;
    finish(id, fail(Trouble::kNoAnswer));
  });
  channel_->ask(lookup.host, lookup.port,
                [this, id](Result<Addresses> addresses) { arrived(id, std::move(addresses)); });
}

// Inside c-ares. A lookup that was cancelled or timed out is not there any more.
void Resolver::arrived(ResolveId id, Result<Addresses> addresses) {
  const auto found = lookups_.find(id);
  if (found == lookups_.end()) return;
  loop_->cancel(found->second.timer);
  found->second.timer = loop_->after(
      Duration::zero(), [this, id, addresses = std::move(addresses)]() mutable { finish(id, std::move(addresses)); });
}

// The answer may destroy this.
void Resolver::finish(ResolveId id, Result<Addresses> addresses) {
  auto lookup = lookups_.extract(id);
  ++(addresses ? stats_.answered : stats_.failed);
  drop_detached();
  if (lookup.mapped().on_answer) lookup.mapped().on_answer(std::move(addresses));
}

bool Resolver::cancel(ResolveId id) {
  auto lookup = lookups_.extract(id);
  if (lookup.empty()) return false;
  ++stats_.cancelled;
  if (Loop* loop = mailbox_->reachable()) {
    loop->cancel(lookup.mapped().timer);
    drop_detached();
  }
  return true;
}

void Resolver::drop_detached() {
  if (lookups_.empty() && channel_) channel_->cancel_all();
}

}  // namespace peal
