// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/server.h>

#include <algorithm>
#include <future>

#include <peal/base/memory/when_released.h>
#include <peal/loop/on_loop.h>
#include <peal/net/parts/acceptor.h>
#include <peal/net/parts/admission.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/drain.h>

namespace peal {

using detail::Acceptor;
using detail::ConnectionSet;
using detail::on_loop_and_wait;
using detail::on_loop_or_after;

namespace {

// Chooses the loop that gets an accepted stream. A Distributor is used only on the loop that accepts. `sets` has one
// ConnectionSet for each loop that may get streams.
class Distributor {
 public:
  Distributor(AcceptMode mode, std::vector<std::shared_ptr<ConnectionSet>> sets)
      : mode_(mode), sets_(std::move(sets)) {}

  void operator()(LooseStream stream) { hand_over(std::move(stream)); }
  // Passes the stream to the chosen loop. If that loop accepts no more, closes the stream and returns false.
  bool hand_over(LooseStream stream) {
    ConnectionSet& set = choose();
    set.load().fetch_add(1, std::memory_order_relaxed);
    if (set.mailbox().here() != nullptr) {
      set.adopt(std::move(stream));
      return true;
    }
    const bool posted = set.mailbox().post(
        [keep = set.shared_from_this(), stream = std::move(stream)]() mutable { keep->adopt(std::move(stream)); });
    if (posted) return true;
    set.load().fetch_sub(1, std::memory_order_relaxed);
    set.count_lost();
    return false;
  }

 private:
  ConnectionSet& choose() {
    if (mode_ != AcceptMode::kLeastLoaded || sets_.size() == 1) return *sets_[next_++ % sets_.size()];
    auto load = [](const auto& set) { return set->load().load(std::memory_order_relaxed); };
    return **std::ranges::min_element(sets_, {}, load);
  }

  const AcceptMode mode_;
  const std::vector<std::shared_ptr<ConnectionSet>> sets_;
  size_t next_ = 0;
};

}  // namespace

struct Server::Shard {
  std::shared_ptr<Mailbox> mailbox;
  std::shared_ptr<ConnectionSet> set;
  std::vector<std::shared_ptr<Acceptor>> acceptors;
};

Server::Server(Loop& loop, ConnectionCallbacks callbacks, const ServerOptions& options) : options_(options) {
  add_loop(loop, std::make_shared<ConnectionCallbacks>(std::move(callbacks)));
}

Server::Server(LoopGroup& group, SharedConnectionCallbacks callbacks, const ServerOptions& options)
    : options_(options) {
  auto shared = std::make_shared<ConnectionCallbacks>(std::move(callbacks));
  for (size_t i = 0; i < group.size(); ++i) add_loop(group[i], shared);
}

void Server::add_loop(Loop& loop, const std::shared_ptr<ConnectionCallbacks>& callbacks) {
  ConnectionOptions of_each = options_.connection;
  if (of_each.when_output_is_full == WhenOutputIsFull::kDefault) {
    of_each.when_output_is_full = callbacks->awaits_input ? WhenOutputIsFull::kReadOn : WhenOutputIsFull::kPauseInput;
  }
  auto set = std::make_shared<ConnectionSet>(loop, callbacks, of_each);
  const size_t most = options_.max_connections;
  const size_t most_of_one = options_.max_connections_per_address;
  if (!admission_ && most + most_of_one > 0) admission_ = std::make_shared<detail::Admission>(most, most_of_one);
  if (admission_) set->cap(admission_);
  shards_.push_back(std::make_shared<Shard>(loop.mailbox(), std::move(set), std::vector<std::shared_ptr<Acceptor>>{}));
}

Server::~Server() {
  life_->end();
  for (auto& shard : shards_)
    PEAL_ASSERT(shards_.size() == 1 || shard->mailbox->here() == nullptr,
                "a server of {} loops is destroyed on one of them", shards_.size());
  for (auto& each : drains_) {
    if (auto drain = each.lock()) drain->forget();
  }
  stop_listening();
  for (auto& shard : shards_) on_loop_or_after(*shard->mailbox, [&] { shard->set->retire(); });
}

Result<SocketAddress> Server::listen(std::string_view address) {
  Result<SocketAddress> parsed = SocketAddress::parse(address);
  return parsed ? listen(*parsed) : parsed;
}

Result<SocketAddress> Server::listen(const SocketAddress& address) {
  bool each = options_.accept == AcceptMode::kReusePort && shards_.size() > 1 && address.is_ip();
  if (!each) return listen_on(*shards_.front(), address, false);
  if (Result<void> free = probe(address); !free) return std::unexpected(free.error());
  Result<SocketAddress> bound = listen_on(*shards_.front(), address, true);
  for (size_t i = 1; bound && i < shards_.size(); ++i) {
    Result<SocketAddress> next = listen_on(*shards_[i], *bound, true);
    if (next) continue;
    while (i-- > 0) stop_last(*shards_[i]);
    return next;
  }
  return bound;
}

// Checks that the address is free, by binding to it once without SO_REUSEPORT. Without this check, the server could
// share a port with another program that has also set SO_REUSEPORT.
Result<void> Server::probe(const SocketAddress& address) const {
  if (address.port() == 0) return {};
  Result<void> free = fail(Trouble::kLoopStopped);
  on_loop_and_wait(*shards_.front()->mailbox, [&](Loop& loop) {
    ListenOptions options = options_.listen;
    options.reuse_port = false;
    Result<ListenerId> listener = loop.engine().bind(address, options);
    if (listener) loop.engine().stop(*listener);
    free = listener ? Result<void>() : std::unexpected(listener.error());
  });
  return free;
}

Result<SocketAddress> Server::listen_on(Shard& shard, const SocketAddress& address, bool reuse_port) {
  ListenOptions options = options_.listen;
  options.reuse_port = reuse_port;
  return accept_on(shard, reuse_port, [&](Engine& engine) { return engine.bind(address, options); });
}

Result<SocketAddress> Server::listen(Fd listening, bool shared) {
  const AdoptOptions options{.socket = options_.listen.socket, .shared = shared};
  return accept_on(*shards_.front(), false,
                   [&](Engine& engine) { return engine.adopt_listener(std::move(listening), options); });
}

Result<void> Server::adopt(LooseStream stream) {
  const bool open = std::ranges::all_of(shards_, [](const auto& shard) { return shard->mailbox->open(); });
  const bool taken = open && Distributor(AcceptMode::kLeastLoaded, all_sets()).hand_over(std::move(stream));
  return taken ? Result<void>() : fail(Trouble::kLoopStopped);
}

Result<SocketAddress> Server::accept_on(Shard& shard, bool for_itself, auto bind) {
  Result<SocketAddress> bound = fail(Trouble::kLoopStopped);
  on_loop_and_wait(*shard.mailbox, [&](Loop& loop) {
    const Result<ListenerId> listener = bind(loop.engine());
    if (!listener) {
      bound = std::unexpected(listener.error());
      return;
    }
    bound = loop.engine().local_address(*listener);
    std::vector<std::shared_ptr<ConnectionSet>> sets = for_itself ? std::vector{shard.set} : all_sets();
    shard.acceptors.push_back(Acceptor::start(loop, *listener, Distributor(options_.accept, std::move(sets))));
  });
  return bound;
}

std::vector<std::shared_ptr<ConnectionSet>> Server::all_sets() const {
  std::vector<std::shared_ptr<ConnectionSet>> sets;
  sets.reserve(shards_.size());
  for (const auto& shard : shards_) sets.push_back(shard->set);
  return sets;
}

void Server::stop_last(Shard& shard) {
  on_loop_and_wait(*shard.mailbox, [&](Loop&) {
    shard.acceptors.back()->stop();
    shard.acceptors.pop_back();
  });
}

void Server::stop_listening() {
  for (auto& shard : shards_) {
    on_loop_and_wait(*shard->mailbox, [&](Loop&) {
      for (auto& acceptor : shard->acceptors) acceptor->stop();
    });
  }
}

// Stops all acceptors before any loop drains. When the last acceptor has stopped, every accepted stream has been posted
// to its loop. The tasks that drain the loops are posted after that, so they find all connections.
void Server::drain(Duration deadline, DrainMode mode, Callback<void(const DrainReport&)> on_done) {
  draining_.store(true, std::memory_order_relaxed);
  auto drain = std::make_shared<detail::Drain>(std::move(on_done));
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(drains_, [](const auto& each) { return each.expired(); });
    drains_.push_back(drain);
  }
  const auto all_stopped = run_when_released([sets = all_sets(), drain = std::move(drain), deadline, mode] {
    for (const auto& set : sets) {
      set->mailbox().insist([set, drain, deadline, mode] { set->drain(drain, deadline, mode == DrainMode::kAsk); });
    }
  });
  for (const auto& shard : shards_) {
    shard->mailbox->insist([shard, all_stopped] {
      for (auto& acceptor : shard->acceptors) acceptor->stop(all_stopped);
    });
  }
}

DrainReport Server::drain_and_wait(Duration deadline) {
  for (const auto& shard : shards_)
    PEAL_ASSERT(!shard->mailbox->here() && !shard->mailbox->beside_a_step(),
                "drain_and_wait() is called on one of the server's {} loops and would wait for itself", shards_.size());
  std::promise<DrainReport> promise;
  drain(deadline, [&promise](const DrainReport& done) { promise.set_value(done); });
  return promise.get_future().get();
}

size_t Server::connections() const {
  size_t count = 0;
  for (const auto& shard : shards_) count += shard->set->load().load(std::memory_order_relaxed);
  return count;
}

std::vector<ConnectionsView> Server::views() const {
  const auto sets = all_sets();
  return {sets.begin(), sets.end()};
}

NetStats Server::stats() const {
  NetStats sum;
  for (const auto& shard : shards_) on_loop_or_after(*shard->mailbox, [&] { sum += shard->set->stats_now(); });
  return sum;
}

}  // namespace peal
