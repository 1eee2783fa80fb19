// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/connector.h>

#include <cerrno>
#include <utility>

namespace peal::detail {
namespace {

// The resolver that all clients of a loop share. All clients may start at once, so the shared resolver allows more
// pending lookups than a resolver that the user creates.
struct SharedResolver : Resolver {
  explicit SharedResolver(Loop& loop) : Resolver(loop, {.most_pending = 1 << 16}) {}
};

}  // namespace

Connector::Connector(std::shared_ptr<ConnectionSet> set, const ClientOptions& options, Client::ConnectFailed on_failed)
    : set_(std::move(set)),
      options_(options),
      host_(options.connect.host),
      on_failed_(std::move(on_failed)),
      backoff_(options.retry.first_delay, options.retry.longest_delay, options.retry.seed) {}

void Connector::start(const SocketAddress& address, const HostPort& name, uint64_t run) {
  if (set_->retired()) return;
  address_ = address;
  name_ = name;
  options_.connect.host = host_.empty() ? name_.host : host_;
  run_ = run;
  wanted_ = true;
  attempts_ = 0;
  backoff_.reset();
  if (options_.retry.seed == 0) backoff_.seed(set_->loop().engine().random_seed());
  // The callbacks hold weak pointers, because this object owns the set that owns the callbacks: with strong pointers,
  // neither object would ever be destroyed.
  set_->on_connect_done = [self = weak_from_this()](const ConnectionHandle& which, std::error_code error) {
    if (auto connector = self.lock()) connector->connect_done(which, error);
  };
  set_->on_connection_gone = [self = weak_from_this()](const ConnectionHandle& which, bool wanted_here) {
    if (auto connector = self.lock()) connector->connection_gone(which, wanted_here);
  };
  attempt();
}

void Connector::attempt() {
  ++attempts_;
  eyeballs_ = HappyEyeballs({}, options_.race.most_at_once);
  last_error_ = {};
  set_timer(&Connector::timer_, options_.connect_timeout, &Connector::time_out);
  if (!address_.is_set()) return look_up();
  race({address_});
}

// Returns ClientOptions::resolver if it is set, otherwise the resolver that all clients of the loop share.
Resolver& Connector::resolver() {
  if (options_.resolver != nullptr) return *options_.resolver;
  if (!shared_resolver_) shared_resolver_ = set_->loop().only<SharedResolver>();
  return *shared_resolver_;
}

// Starts the lookup of the name. The lookup has no timeout of its own, because the deadline of the attempt ends it.
void Connector::look_up() {
  auto answered = [self = weak_from_this()](Result<Resolver::Addresses> addresses, bool more) {
    if (const auto connector = self.lock()) connector->looked_up(std::move(addresses), more);
  };
  const ResolveOptions options{.timeout = Duration::max()};
  const Result<ResolveId> lookup = resolver().resolve_in_parts(name_.host, name_.port, options, std::move(answered));
  if (!lookup) return fail_attempt(lookup.error());
  lookup_ = *lookup;
}

void Connector::looked_up(Result<Resolver::Addresses> addresses, bool more) {
  if (!more) lookup_ = ResolveId::kNone;
  if (!addresses) return fail_attempt(addresses.error());
  race(*addresses);
}

void Connector::race(const std::vector<SocketAddress>& more_addresses) {
  eyeballs_.add(more_addresses);
  try_next();
}

// Starts the next connection of the race, or a timer that will start it. The attempt fails if no connection or lookup
// is in progress and no address is left.
void Connector::try_next() {
  cancel_timer(race_timer_);
  if (!eyeballs_.has_next(racing_.size())) {
    if (racing_.empty() && lookup_ == ResolveId::kNone) fail_attempt(last_error_);
    return;
  }
  const TimePoint now = set_->loop().now();
  if (racing_.empty() || now >= next_try_) {
    racing_.push_back(set_->connect(eyeballs_.next(), options_.connect).handle());
    next_try_ = later(now, options_.race.attempt_delay);
  }
  if (eyeballs_.has_next(racing_.size())) set_timer(&Connector::race_timer_, next_try_ - now, &Connector::try_next);
}

void Connector::time_out() {
  if (racing_.empty() && last_error_) return fail_attempt(last_error_);
  fail_attempt(racing_.empty() ? make_error_code(Trouble::kNoAnswer) : errno_code(ETIMEDOUT));
}

// Called when a connection has opened or failed. Ignores a connection that lost the race or that stop() has given up.
void Connector::connect_done(const ConnectionHandle& which, std::error_code error) {
  if (std::erase(racing_, which) == 0) return;
  if (!error) {
    current_ = which;
    opened_at_ = set_->loop().now();
    attempts_ = 0;
    return drop_attempt();
  }
  if (!wanted_ || !set_->mailbox().open()) return;
  last_error_ = error;
  next_try_ = {};
  try_next();
}

void Connector::connection_gone(const ConnectionHandle& which, bool wanted_here) {
  if (which != current_) return;
  current_ = {};
  if (!wanted_ || wanted_here || !options_.retry.reconnect) return give_up();
  backoff_.lost_after(set_->loop().now() - opened_at_);
  set_timer(&Connector::timer_, backoff_.next(), &Connector::attempt);
}

void Connector::fail_attempt(std::error_code error) {
  drop_attempt();
  const bool more = options_.retry.attempts == 0 || attempts_ < options_.retry.attempts;
  const Duration delay = more ? backoff_.next() : Client::kNoRetry;
  if (more) {
    set_timer(&Connector::timer_, delay, &Connector::attempt);
  } else {
    give_up();
  }
  set_->call(on_failed_, error, delay);
}

// Ends everything that the attempt has in progress: its timers, its lookup, and all connections that have not won the
// race.
void Connector::drop_attempt() {
  cancel_timer(timer_);
  cancel_timer(race_timer_);
  if (lookup_ != ResolveId::kNone) resolver().cancel(std::exchange(lookup_, ResolveId::kNone));
  eyeballs_ = {};
  for (const ConnectionHandle& loser : std::exchange(racing_, {})) loser.close();
}

void Connector::give_up() {
  wanted_ = false;
  claim_.end(run_);
}

void Connector::stop() {
  give_up();
  drop_attempt();
  std::exchange(current_, {}).close();
}

void Connector::retire() {
  wanted_ = false;
  drop_attempt();
  set_->retire();
}

void Connector::set_timer(TimerId Connector::* timer, Duration delay, void (Connector::*then)()) {
  this->*timer = set_->loop().after(delay, [self = weak_from_this(), timer, then] {
    auto connector = self.lock();
    if (connector == nullptr) return;
    (*connector).*timer = {};
    (connector.get()->*then)();
  });
}

void Connector::cancel_timer(TimerId& timer) {
  if (timer) set_->loop().cancel(std::exchange(timer, {}));
}

}  // namespace peal::detail
