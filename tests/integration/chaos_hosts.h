// SPDX-License-Identifier: BSD-3-Clause
// The servers and clients of chaos_test.cc that use callbacks. They are destroyed and made again at random times. All
// run on the test's thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <peal/net/client.h>
#include <peal/net/server.h>
#include <tests/integration/chaos_party.h>

namespace peal::test {

// Returns random options with small output queues and short timeouts. If world.by_deadlines is true, the timeouts end
// every connection. Otherwise the test aborts the connections that are still open at the end of the test.
inline ConnectionOptions chaos_limits(ChaosWorld& world) {
  ConnectionOptions options;
  const auto span = [&world](size_t least, size_t more) {
    return milliseconds(least + world.pick(more)) / (world.is_sim() ? 1 : 4);
  };
  if (world.pick(3) != 0) options.high_water_bytes = 1 + static_cast<uint32_t>(world.pick(16 * 1024));
  if (world.one_in(4)) options.when_output_is_full = WhenOutputIsFull::kReadOn;
  if (world.one_in(8)) options.output_limit_bytes = 100'000 + world.pick(400'000);
  if (world.one_in(8)) options.input_limit_bytes = 2'000 + world.pick(100'000);
  options.linger_timeout = span(5, 500);
  options.handshake_timeout = span(50, 1'000);
  options.write_window = span(100, 2'000);
  if (world.one_in(3)) options.min_write_bytes = static_cast<uint32_t>(world.pick(500));
  if (world.by_deadlines) {
    options.idle_timeout = span(20, 2'000);
    options.min_write_bytes = std::max(options.min_write_bytes, 1U);
  }
  if (world.one_in(3)) {
    options.min_read_bytes = 1 + static_cast<uint32_t>(world.pick(1'000));
    options.read_window = span(20, 1'000);
  }
  options.remember_peer = world.one_in(4);
  if (world.layer == ChaosLayer::kLater) options.layer_later = true;
  return options;
}

class ChaosServer {
 public:
  explicit ChaosServer(ChaosWorld& world) : world_(world) { make(); }
  ~ChaosServer() { destroy(); }
  ChaosServer(const ChaosServer&) = delete;
  ChaosServer& operator=(const ChaosServer&) = delete;

  const SocketAddress& address() const { return address_; }
  bool quiet() const { return drains_ == 0; }
  size_t connections() const { return server_->connections(); }
  void check_end() {
    const NetStats stats = server_->stats();
    world_.check(stats.opened == owner_->opened, "NetStats::opened is not the number of on_open calls");
    world_.check(
        stats.closed == owner_->closed && stats.opened == stats.closed,
        fmt::format("the server counts {} opened and {} closed; on_open was called {} times and on_close {} times",
                    stats.opened, stats.closed, owner_->opened, owner_->closed));
  }

 private:
  void make() {
    owner_ = std::make_shared<ChaosOwner>(world_, true);
    owner_->meddle = [this] { return meddle(); };
    ServerOptions options;
    options.connection = chaos_limits(world_);
    if (world_.layer != ChaosLayer::kPlain) options.connection.layer = &world_.layers->server();
    if (world_.one_in(6)) options.max_connections = 1 + world_.pick(8);
    if (world_.one_in(2)) options.listen.socket.send_buffer_bytes = 4'096 + static_cast<int>(world_.pick(30'000));
    if (world_.one_in(2)) options.listen.socket.receive_buffer_bytes = 4'096 + static_cast<int>(world_.pick(30'000));
    server_ = std::make_unique<Server>(world_.here(),
                                       ChaosParty::callbacks(owner_, world_.pick(3) != 0, world_.one_in(2)), options);
    const SimOptions faults = world_.sim ? std::exchange(world_.sim->options(), {}) : SimOptions();
    const Result<SocketAddress> bound = server_->listen(world_.address());
    if (world_.sim) world_.sim->options() = faults;
    world_.check(bound.has_value(), "a server cannot listen");
    if (bound) address_ = *bound;
  }
  void destroy() {
    owner_->gone = true;
    drains_ = 0;
    server_.reset();
  }
  // Performs one of two random actions:
  // - drains the server and returns false,
  // - destroys the server with all its connections, makes a new server, and returns true.
  //
  // Callbacks and timers of the server's connections call this function.
  bool meddle() {
    if (world_.one_in(2)) {
      ++drains_;
      ++drained_;
      for (ChaosRecord& record : world_.records) record.drained |= record.is_server && record.connection != nullptr;
      owner_->drained = true;
      const DrainMode mode = world_.one_in(3) ? DrainMode::kWait : DrainMode::kAsk;
      server_->drain(world_.span(500), mode, [this, owner = owner_](const DrainReport&) {
        owner->world.check(!owner->gone, "the end of a drain was reported after the server was destroyed");
        if (!owner->gone) --drains_;
      });
      remake_later();
      return false;
    }
    destroy();
    make();
    return true;
  }
  // Replaces the server by a new server after a random time. meddle() calls this function when the server begins to
  // drain. A draining server accepts no connections, so later clients need a new server.
  void remake_later() {
    ++world_.acts_under_way;
    world_.here().after(world_.span(1'000), [this, owner = owner_] {
      --owner->world.acts_under_way;
      if (owner->gone || owner->world.over) return;
      destroy();
      make();
    });
  }

  ChaosWorld& world_;
  std::shared_ptr<ChaosOwner> owner_;
  std::unique_ptr<Server> server_;
  SocketAddress address_;
  size_t drains_ = 0;
  size_t drained_ = 0;
};

class ChaosClient {
 public:
  ChaosClient(ChaosWorld& world, std::function<SocketAddress()> target) : world_(world), target_(std::move(target)) {
    make();
  }
  ~ChaosClient() { destroy(); }
  ChaosClient(const ChaosClient&) = delete;
  ChaosClient& operator=(const ChaosClient&) = delete;

  // True if the client has no open connection and does not wait for its first connection. A client that reconnects must
  // be stopped before this call. Otherwise the function also returns true between two of its connections.
  bool over() const { return owner_->opened == owner_->closed && (failed_ || owner_->opened > 0); }
  void stop() {
    owner_->stopped = failed_ = true;
    for (ChaosRecord& record : world_.records) record.stopped |= !record.is_server;
    client_->stop();
  }
  bool reconnects() const { return reconnects_; }
  void check_end() {
    const NetStats stats = client_->stats();
    world_.check(
        stats.opened == owner_->opened && stats.closed == owner_->closed && stats.opened == stats.closed,
        fmt::format("a client counts {} opened and {} closed; on_open was called {} times and on_close {} times",
                    stats.opened, stats.closed, owner_->opened, owner_->closed));
  }

 private:
  void make() {
    owner_ = std::make_shared<ChaosOwner>(world_, false);
    owner_->meddle = [this] { return meddle(); };
    failed_ = false;
    ClientOptions options;
    options.connection = chaos_limits(world_);
    if (world_.layer != ChaosLayer::kPlain) options.connection.layer = &world_.layers->client();
    if (world_.layers) options.connect.host = world_.layers->host();
    options.connect_timeout = seconds(1);
    if (world_.one_in(2)) options.connect.socket.send_buffer_bytes = 4'096 + static_cast<int>(world_.pick(30'000));
    if (world_.one_in(2)) options.connect.socket.receive_buffer_bytes = 4'096 + static_cast<int>(world_.pick(30'000));
    options.retry = {.attempts = 1 + static_cast<unsigned>(world_.pick(3)),
                     .first_delay = milliseconds(1),
                     .longest_delay = milliseconds(20),
                     .reconnect = reconnects_,
                     .seed = world_.seed};
    client_ = std::make_unique<Client>(world_.there(), ChaosParty::callbacks(owner_, world_.pick(3) != 0, false),
                                       options, [this, owner = owner_](std::error_code, Duration next) {
                                         world_.check(!owner->gone,
                                                      "a failed attempt was reported after its client was destroyed");
                                         failed_ = failed_ || next == Client::kNoRetry;
                                       });
    world_.check(client_->connect(target_()).has_value(), "a client cannot begin to connect");
  }
  void destroy() {
    owner_->gone = true;
    client_.reset();
  }
  bool meddle() {
    if (world_.one_in(2)) {
      stop();
      return false;
    }
    destroy();
    make();
    return true;
  }

  ChaosWorld& world_;
  const std::function<SocketAddress()> target_;
  std::shared_ptr<ChaosOwner> owner_;
  std::unique_ptr<Client> client_;
  bool failed_ = false;
  const bool reconnects_ = world_.one_in(5);
};

}  // namespace peal::test
