// SPDX-License-Identifier: BSD-3-Clause
// Every answer is given from a timer. So it never comes inside resolve(), nor inside c-ares, whose channel must not be
// destroyed during one of its calls. If a callback throws, the loop handles the exception as that of a timer.
#include <peal/net/resolver.h>

#include <algorithm>
#include <utility>

#include <peal/base/ascii.h>
#include <peal/loop/on_loop.h>
#include <peal/net/parts/address_order.h>
#include <peal/net/parts/resolver_channel.h>

namespace peal {
namespace {

constexpr Duration kResolvConfCheckInterval = std::chrono::seconds(1);

Result<Resolver::Addresses> find_name(const NameTable& names, std::string host, uint16_t port) {
  if (host.ends_with('.')) host.pop_back();
  const auto found = names.find(to_lower(host));
  Resolver::Addresses addresses;
  if (found != names.end()) addresses = found->second;
  if (addresses.empty() && is_localhost(host)) {
    for (const char* loopback : {"[::1]:0", "127.0.0.1:0"}) addresses.push_back(*SocketAddress::parse(loopback));
  }
  if (addresses.empty()) return fail(Trouble::kHostNotFound);
  for (SocketAddress& address : addresses) {
    if (address.is_ip()) address.set_port(port);
  }
  return addresses;
}

}  // namespace

Resolver::Resolver(Loop& loop, const ResolverOptions& options)
    : loop_(&loop), mailbox_(loop.mailbox()), options_(options) {}

// If the loop has ended, on_loop_and_wait() does nothing, because nothing refers to this object any more: the loop's
// timers are destroyed and its engine has shut down.
Resolver::~Resolver() {
  detail::on_loop_and_wait(*mailbox_, [this](Loop& loop) {
    for (auto& [id, lookup] : lookups_) {
      loop.cancel(lookup.timer);
      loop.cancel(lookup.answer_timer);
    }
    channels_.clear();
  });
}

Result<ResolveId> Resolver::resolve(std::string_view host, uint16_t port, const ResolveOptions& options,
                                    Answer on_answer) {
  return take(host, port, options, false, [on_answer = std::move(on_answer)](Result<Addresses> all, bool) mutable {
    if (on_answer) on_answer(std::move(all));
  });
}

Result<ResolveId> Resolver::resolve_in_parts(std::string_view host, uint16_t port, const ResolveOptions& options,
                                             Part on_part) {
  return take(host, port, options, true, std::move(on_part));
}

Result<ResolveId> Resolver::take(std::string_view host, uint16_t port, const ResolveOptions& options, bool in_parts,
                                 Part on_part) {
  if (!mailbox_->open()) return fail(Trouble::kLoopStopped);
  Result<SocketAddress> literal = HostPort{std::string(host), port}.literal();
  if (!literal) return std::unexpected(literal.error());
  if (std::max(lookups_.size(), questions()) >= options_.most_pending) {
    ++stats_.refused;
    return fail(Trouble::kTooManyLookups);
  }
  const auto id = static_cast<ResolveId>(++last_id_);
  const TimerId timer = loop_->after(Duration::zero(), [this, id] { start(id); });
  if (!timer) return fail(Trouble::kLoopStopped);
  Lookup& lookup = lookups_[id];
  lookup.host = host;
  lookup.port = port;
  lookup.literal = *literal;
  lookup.deadline = later(loop_->now(), options.timeout);
  lookup.other_family_wait = options.other_family_wait;
  lookup.in_parts = in_parts;
  lookup.on_part = std::make_shared<Part>(std::move(on_part));
  lookup.timer = timer;
  ++stats_.lookups;
  return id;
}

void Resolver::start(ResolveId id) {
  Lookup& lookup = lookups_.at(id);
  lookup.timer = {};
  const NameTable* const names = loop_->engine().names();
  if (!lookup.literal.is_set() && names == nullptr) return ask(id, lookup);
  Result<Addresses> known =
      lookup.literal.is_set() ? Addresses{lookup.literal} : find_name(*names, lookup.host, lookup.port);
  if (known) lookup.undelivered = std::move(*known);
  if (!known) lookup.error = known.error();
  finish(id);
}

void Resolver::ask(ResolveId id, Lookup& lookup) {
  const Result<detail::ResolverChannel*> asked = channel();
  if (!asked) {
    lookup.error = asked.error();
    return finish(id);
  }
  lookup.timer = loop_->at(lookup.deadline, [this, id] {
    ++stats_.timeouts;
    finish(id);
  });
  (*asked)->ask(id, lookup.host, lookup.port,
                [this, id](Result<Addresses> addresses, bool more) { arrived(id, std::move(addresses), more); });
}

// Returns the channel for a new question. If resolv.conf has changed, creates a new channel first. If the creation
// fails, for example because no fd is free, the old channel stays in use until the next check.
Result<detail::ResolverChannel*> Resolver::channel() {
  const TimePoint now = loop_->now();
  bool outdated = channels_.empty();
  if (!outdated && now >= next_resolv_conf_check_) {
    next_resolv_conf_check_ = now + kResolvConfCheckInterval;
    outdated = channels_.back()->is_outdated();
  }
  if (outdated) {
    auto made = detail::ResolverChannel::make(*loop_, options_);
    if (!made && channels_.empty()) return std::unexpected(made.error());
    if (made) channels_.push_back(std::move(*made));
  }
  return channels_.back().get();
}

// Called inside c-ares with the answer to a lookup. Ignores the answer if the lookup was cancelled or has timed out.
void Resolver::arrived(ResolveId id, Result<Addresses> addresses, bool more) {
  const auto found = lookups_.find(id);
  if (found == lookups_.end()) return;
  Lookup& lookup = found->second;
  lookup.more = more;
  if (addresses) lookup.undelivered = detail::join_families(std::move(lookup.undelivered), std::move(*addresses));
  if (!addresses) lookup.error = addresses.error();
  const bool waits = more && !(lookup.in_parts && lookup.undelivered.front().family() == AF_INET6);
  loop_->cancel(lookup.answer_timer);
  lookup.answer_timer =
      loop_->after(waits ? lookup.other_family_wait : Duration::zero(), [this, id] { deliver_answer(id); });
}

// Calls the lookup's callback with the addresses that have arrived so far. The callback may end the lookup or destroy
// this object.
void Resolver::deliver_answer(ResolveId id) {
  Lookup& lookup = lookups_.at(id);
  lookup.answer_timer = {};
  if (!lookup.in_parts || !lookup.more) return finish(id);
  lookup.delivered_some = true;
  const std::shared_ptr<Part> on_part = lookup.on_part;
  if (*on_part) (*on_part)(std::exchange(lookup.undelivered, {}), true);
}

// Ends the lookup and calls its callback, which may destroy this object.
void Resolver::finish(ResolveId id) {
  auto node = lookups_.extract(id);
  Lookup& lookup = node.mapped();
  loop_->cancel(lookup.timer);
  loop_->cancel(lookup.answer_timer);
  const bool found = lookup.delivered_some || !lookup.undelivered.empty();
  ++(found ? stats_.answered : stats_.failed);
  drop_detached(id);
  if (!*lookup.on_part) return;
  (*lookup.on_part)(found ? Result<Addresses>(std::move(lookup.undelivered)) : std::unexpected(lookup.error), false);
}

bool Resolver::cancel(ResolveId id) {
  auto lookup = lookups_.extract(id);
  if (lookup.empty()) return false;
  ++stats_.cancelled;
  if (Loop* loop = mailbox_->reachable()) {
    loop->cancel(lookup.mapped().timer);
    loop->cancel(lookup.mapped().answer_timer);
    drop_detached(id);
  }
  return true;
}

// Drops the questions of lookup `id`, which has ended, in all channels. Must not be called inside c-ares.
void Resolver::drop_detached(ResolveId id) {
  for (const auto& channel : channels_) {
    if (lookups_.empty()) {
      channel->cancel_all();
    } else {
      channel->drop(id);
    }
  }
  const auto* const asked = channels_.empty() ? nullptr : channels_.back().get();
  std::erase_if(channels_, [&](const auto& each) { return each.get() != asked && each->questions() == 0; });
}

size_t Resolver::questions() const {
  size_t all = 0;
  for (const auto& channel : channels_) all += channel->questions();
  return all;
}

}  // namespace peal
