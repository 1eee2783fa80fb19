// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/peal_service.h>

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <peal/loop/watch.h>

namespace peal::models {

LoopClients::LoopClients(Loop& loop, Statistics& statistics, Duration slow_timeout)
    : loop_(loop), statistics_(statistics), slow_timeout_(slow_timeout) {
  constexpr int kLooks = 4;  // checks of each connection per slow_timeout
  if (slow_timeout == Duration::zero()) return;
  const Duration period = std::max<Duration>(slow_timeout / kLooks, std::chrono::milliseconds(1));
  loop.post([this, period] { loop_.every(period, [this] { look(); }); });
}

// Aborts the slow connections in two steps: first finds all of them, then aborts each one. Reason: abort() may destroy
// a PealClient, whose destructor removes the PealClient from clients_. Therefore abort() must not be called inside the
// loop over clients_.
void LoopClients::look() {
  std::vector<ConnectionHandle> late;
  const TimePoint now = loop_.now();
  for (PealClient* client : clients_) {
    client->handle_.run([&](Connection& connection) {
      if (client->is_late(connection, now, slow_timeout_)) late.push_back(client->handle_);
    });
  }
  for (const ConnectionHandle& handle : late) handle.abort();
}

PealClient::PealClient(LoopClients& clients, Connection& connection)
    : clients_(clients), handle_(connection.handle()), place_(clients.clients_.insert(clients.clients_.end(), this)) {
  Tally begun{.accepted = 1};
  clients.statistics_.add(begun);
}

PealClient::~PealClient() {
  clients_.clients_.erase(place_);
  ++tally.ended;
  clients_.statistics_.add(tally);
}

bool PealClient::is_late(const Connection& connection, TimePoint now, Duration slow_timeout) {
  const uint64_t unsent = connection.queued_bytes();
  const uint64_t moved = connection.received_bytes() + connection.sent_bytes() - unsent;
  const bool in_the_middle = in_frame || unsent > 0;
  if (std::exchange(moved_bytes_, moved) != moved || moved_at_ == kNever) moved_at_ = now;
  if (!in_the_middle) moved_at_ = kNever;
  if (!in_the_middle || now - moved_at_ < slow_timeout) return false;
  ++tally.timed_out;
  return true;
}

Result<std::unique_ptr<PealLoops>> PealLoops::make(const ModelRun& run) {
  std::unique_ptr<PealLoops> loops(new PealLoops);
  const LoopOptions options{.engine = run.options.engine};
  if (run.options.workers > 1) {
    Result<std::unique_ptr<LoopGroup>> group = LoopGroup::start(run.options.workers, options);
    if (!group) return std::unexpected(group.error());
    loops->group_ = std::move(*group);
  } else {
    Result<std::unique_ptr<Loop>> loop = Loop::make(options);
    if (!loop) return std::unexpected(loop.error());
    loops->loop_ = std::move(*loop);
  }
  for (size_t i = 0; i < run.options.workers; ++i) {
    Loop& loop = loops->group_ ? (*loops->group_)[i] : *loops->loop_;
    loops->clients_.emplace_back(loop, run.statistics, run.options.slow_timeout);
  }
  return loops;
}

LoopClients& PealLoops::clients_of(const Connection& connection) {
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [&](const LoopClients& clients) { return &clients.loop() == &connection.loop(); });
  PEAL_ASSERT(found != clients_.end(), "the connection belongs to none of the {} loops", clients_.size());
  return *found;
}

// Returns the options of peal's server. min_write_bytes = 0 turns off peal's own check for slow clients while a
// connection is open, because LoopClients checks for slow clients. linger_timeout limits how long a client may delay
// the end of its connection.
ServerOptions PealLoops::server_options(const ModelOptions& options) {
  ServerOptions server;
  server.connection.min_write_bytes = 0;
  if (options.slow_timeout > Duration::zero()) server.connection.linger_timeout = options.slow_timeout;
  return server;
}

Result<void> PealLoops::run_until_stopped(const Stop& stop) {
  if (loop_) {
    const Watch watch(*loop_, stop.fd(), {.readable = true}, [this](Readiness) { loop_->stop(); });
    return loop_->run();
  }
  pollfd entry{.fd = stop.fd(), .events = POLLIN, .revents = 0};
  while (::poll(&entry, 1, -1) < 0 && errno == EINTR) {
  }
  group_->stop();
  group_->join();
  return {};
}

}  // namespace peal::models
