// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/connector.h>

#include <cerrno>
#include <random>

namespace peal::detail {

Connector::Connector(std::shared_ptr<ConnectionSet> set, const ClientOptions& options, Client::ConnectFailed on_failed)
    : set_(std::move(set)),
      options_(options),
      on_failed_(std::move(on_failed)),
      backoff_(options.retry.first_delay, options.retry.longest_delay, std::random_device{}()) {}

uint64_t Connector::claim() {
  uint64_t last = claims_;
  if (last % 2 == 1 || !claims_.compare_exchange_strong(last, last + 1)) return 0;
  return last + 1;
}

void Connector::unclaim(uint64_t claim) {
  if (claim % 2 == 1) claims_.compare_exchange_strong(claim, claim + 1);
}

void Connector::start(const SocketAddress& address, uint64_t claim) {
  if (set_->retired()) return;
  address_ = address;
  claim_ = claim;
  wanted_ = true;
  attempts_ = 0;
  backoff_.reset();
  // The set dies with its last connection or with this; the hooks must not keep this alive in turn.
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
  timed_out_ = false;
  current_ = set_->connect(address_, options_.connect).handle();
  set_timer(options_.connect_timeout, &Connector::time_out);
}

void Connector::set_timer(Duration delay, void (Connector::*then)()) {
  timer_ = set_->loop().after(delay, [self = weak_from_this(), then] {
    auto connector = self.lock();
    if (connector == nullptr) return;
    connector->timer_ = {};
    (connector.get()->*then)();
  });
}

void Connector::time_out() {
  timed_out_ = true;
  current_.close();
}

// What is told of a connection that a stop() left behind concerns nobody.
void Connector::connect_done(const ConnectionHandle& which, std::error_code error) {
  if (which != current_) return;
  if (timer_) set_->loop().cancel(std::exchange(timer_, {}));
  if (!error) {
    attempts_ = 0;
    backoff_.reset();
    return;
  }
  if (wanted_ && set_->mailbox().open()) try_again_after(timed_out_ ? errno_code(ETIMEDOUT) : error);
}

void Connector::connection_gone(const ConnectionHandle& which, bool wanted_here) {
  if (which != current_) return;
  if (!wanted_ || wanted_here || !options_.retry.reconnect) {
    give_up();
    return;
  }
  set_timer(backoff_.next(), &Connector::attempt);
}

void Connector::try_again_after(std::error_code error) {
  bool more = options_.retry.attempts == 0 || attempts_ < options_.retry.attempts;
  Duration delay = more ? backoff_.next() : Client::kNoRetry;
  if (more) {
    set_timer(delay, &Connector::attempt);
  } else {
    give_up();
  }
  set_->call(on_failed_, error, delay);
}

void Connector::give_up() {
  wanted_ = false;
  unclaim(claim_);
}

void Connector::stop() {
  give_up();
  if (timer_) set_->loop().cancel(std::exchange(timer_, {}));
  current_.close();
}

void Connector::retire() {
  wanted_ = false;
  if (timer_) set_->loop().cancel(std::exchange(timer_, {}));
  set_->retire();
}

}  // namespace peal::detail
