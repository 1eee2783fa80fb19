// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/connection_set.h>

#include <cerrno>

#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/net/parts/memory_relief.h>
#include <peal/net/parts/tracked.h>

namespace peal::detail {

// Limits the durations in `options`, so that each message can add them to time points without the overflow check of
// later(). A read or write window of zero becomes the longest duration, so that it never passes.
ConnectionOptions ConnectionSet::in_range(ConnectionOptions options) {
  for (Duration* window : {&options.read_window, &options.write_window}) {
    *window = *window > Duration::zero() ? bounded(*window) : kLongest;
  }
  for (Duration* limit : {&options.idle_timeout, &options.linger_timeout, &options.handshake_timeout}) {
    *limit = bounded(*limit);
  }
  return options;
}

StreamPort& ConnectionSet::layer_port() {
  if (!layer_port_) {
    layer_port_ = options_.layer->over(loop_->engine());
    layer_port_->answer_in_the_clear(options_.clear_answer);
  }
  return *layer_port_;
}

Connection& ConnectionSet::make() {
  StreamPort& engine = loop_->engine();
  StreamPort& its_port = options_.layer == nullptr || options_.layer_later ? engine : layer_port();
  if (table_.size() == 0) {
    self_ = shared_from_this();
    MemoryRelief::of_this_thread().join(*this);
  }
  uint32_t slot = table_.acquire();
  Connection& connection = table_[slot];
  if (options_.layer_later) layer_hosts_.erase(slot);
  const SlotLinks links = connection;
  std::destroy_at(&connection);
  static_cast<SlotLinks&>(*std::construct_at(&connection)) = links;
  connection.set_ = this;
  connection.port_ = &its_port;
  connection.high_water_bytes_ = options_.high_water_bytes;
  return connection;
}

void ConnectionSet::adopt(LooseStream stream) {
  if (retired_) {
    load_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  Connection& connection = make();
  connection.enter(ConnectionLife::kConnecting);
  connection.stream_ = connection.port_->adopt(std::move(stream), connection);
  ConnectionCaps::Answer answer = caps_ ? caps_->admit(connection) : ConnectionCaps::Answer::kEnter;
  if (answer == ConnectionCaps::Answer::kRefused) return connection.end(CloseReason::kEvicted);
  connection.awaits_place_ = answer == ConnectionCaps::Answer::kWait;
  connection.begin(!connection.port_->adopts_open());
  if (!connection.awaits_place_) take_place(connection);
}

void ConnectionSet::take_place(Connection& connection) {
  connection.awaits_place_ = false;
  if (connection.life() != ConnectionLife::kHandshaking) return connection.open();
  if (caps_) caps_->list_as_evictable(connection);
}

Connection& ConnectionSet::connect(const SocketAddress& address, const ConnectOptions& options) {
  load_.fetch_add(1, std::memory_order_relaxed);
  Connection& connection = make();
  if (options_.layer_later) set_layer_host(connection.slot, options.host);
  connection.enter(ConnectionLife::kConnecting);
  connection.stream_ = connection.port_->connect(address, options, connection);
  return connection;
}

Duration ConnectionSet::age(const Connection& connection) {
  if (!connection.was_open_) return {};
  const uint32_t stamps = Connection::age_stamp(connection.loop().now()) - connection.opened_at_;
  return Duration(int64_t{stamps} << Connection::kAgeShift);
}

Connection* ConnectionSet::find(uint32_t slot, uint32_t generation) {
  Connection* connection = table_.find(slot, generation);
  if (connection != nullptr && connection->life() != ConnectionLife::kClosed) return connection;
  ++stats_.late_calls;
  return nullptr;
}

void ConnectionSet::retire() {
  retired_ = true;
  std::shared_ptr<ConnectionSet> keep = shared_from_this();
  for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
    if (table_[slot].generation != 0) table_[slot].end(CloseReason::kLocal);
  }
  if (table_.size() == 0) drop_callbacks();
}

// Ends `rest`, one connection of a pipe, because the other connection of the pipe ends. `hard` is true if the other
// connection ends by an error or a reset; `rest` is then reset too.
void ConnectionSet::end_piped(Connection& rest, bool hard) {
  if (hard) return rest.end(CloseReason::kPipeEnded, CloseHow::kReset);
  rest.end_gracefully(rest.peer_ended_ ? CloseReason::kPeerClosed : CloseReason::kPipeEnded);
}

// Called when the set is retired and has no connection left. Destroys the callbacks, which may hold handles to this
// set. Destroys the layer's port too, since the last handle to this set may be destroyed on another thread.
void ConnectionSet::drop_callbacks() {
  callbacks_.reset();
  layer_port_.reset();
}

void ConnectionSet::release(Connection& connection) {
  std::shared_ptr<ConnectionSet> keep = self_;
  const bool was_open = connection.was_open_;
  if (was_open) {
    ++stats_.closed;
    if (!retired_) call(callbacks_->on_close, connection, connection.shown_reason());
  } else if (on_connect_done) {
    ++stats_.connect_failed;
  }
  if (draining_) count_end(connection);
  const bool wanted_here = connection.ended_here_ || connection.reason_ == CloseReason::kLoopStopped;
  const std::error_code error = connection.error_ == 0 ? errno_code(ECANCELED) : connection.error();
  ConnectionHandle which;
  if (on_connect_done) which = connection.handle();
  // The context is destroyed before the input is cleared, because a coroutine's stream in the context takes over that
  // input.
  connection.context_ = {nullptr, &Connection::no_context};
  connection.input_.clear();
  std::unique_ptr<CapEntry> cap_entry;
  if (connection.tracked_) {
    loop_->cancel(connection.tracked_->timer);
    cap_entry = std::move(connection.tracked_->cap_entry);
    connection.tracked_.reset();
  }
  table_.release(connection.slot);
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (table_.size() == 0) {
    MemoryRelief::of_this_thread().leave(*this);
    self_.reset();
    if (retired_) drop_callbacks();
  }
  if (cap_entry) {
    caps_->released(*cap_entry);
    open_successor(*cap_entry);
  }
  if (which && !retired_) {
    if (was_open) {
      call(on_connection_gone, which, wanted_here);
    } else {
      call(on_connect_done, which, error);
    }
  }
  if (draining_ && table_.size() == 0) finish_drains();
}

void ConnectionSet::open_successor(const CapEntry& cap_entry) {
  Connection* next = table_.find(cap_entry.successor_slot, cap_entry.successor_generation);
  if (next == nullptr) return;
  ConnectionCaps::predecessor_released(*next);
  if (retired_ || !mailbox_->open()) return;
  if (next->is_beginning()) take_place(*next);
}

CapEntry& ConnectionSet::give_cap_entry(Connection& connection) {
  connection.tracked().cap_entry = std::make_unique<CapEntry>();
  return cap_entry(connection);
}

CapEntry& ConnectionSet::cap_entry(const Connection& connection) { return *connection.tracked_->cap_entry; }

bool ConnectionSet::watches() const {
  return caps_ != nullptr || options_.idle_timeout > Duration::zero() || options_.min_read_bytes > 0 ||
         options_.remember_peer || loop_->flight_recorder() != nullptr;
}

void ConnectionSet::drain(std::shared_ptr<Drain> drain, Duration deadline, bool ask) {
  std::shared_ptr<ConnectionSet> keep = shared_from_this();
  draining_ = true;
  // If on_drain is set, it is called even if `ask` is false, because the protocol knows how to end without losing
  // anything.
  ask = ask || (callbacks_ != nullptr && callbacks_->on_drain);
  asks_ = asks_ || ask;
  drains_.push_back({std::move(drain), loop_->after(deadline, [set = weak_from_this()] {
                       if (auto self = set.lock()) self->force();
                     })});
  // A connection in its handshake is skipped here: drain_one() is called for it when it opens.
  if (ask) {
    each([this](Connection& connection) {
      if (connection.life() != ConnectionLife::kHandshaking) drain_one(connection);
    });
  }
  if (table_.size() == 0) finish_drains();
}

void ConnectionSet::drain_one(Connection& connection) {
  if (connection.is_beginning()) return connection.close();
  if (!connection.is_open() || retired_) return;
  if (callbacks_->on_drain) {
    if (!call(callbacks_->on_drain, connection)) connection.end(CloseReason::kCallbackThrew);
    return;
  }
  if (connection.is_piped()) return;
  // If only a part of a request has arrived, the connection closes after the whole request has arrived and was
  // answered.
  connection.set_slow_path(Connection::kDrains, true);
  connection.note_input_shown();
}

void ConnectionSet::force() {
  std::shared_ptr<ConnectionSet> keep = shared_from_this();
  each([](Connection& connection) { connection.end(CloseReason::kDrainDeadline, CloseHow::kReset); });
}

// Releases all drains. Releasing the last pointer to a drain calls the user's on_done, which may destroy or drain the
// server.
void ConnectionSet::finish_drains() {
  std::vector<Draining> done = std::exchange(drains_, {});
  for (Draining& each : done) loop_->cancel(each.deadline);
}

void ConnectionSet::note_end(const Connection& connection, CloseHow how) {
  switch (connection.reason_) {
    case CloseReason::kIdle: ++stats_.idle_closes; break;
    case CloseReason::kReadTooSlow:
    case CloseReason::kWriteTooSlow:
    case CloseReason::kNeitherRead: ++stats_.slow_closes; break;
    case CloseReason::kEvicted: ++(connection.was_open_ ? stats_.evicted : stats_.refused); break;
    default: break;
  }
  if (drains_.empty()) return;
  const uint64_t queued = connection.queued_bytes();
  const uint64_t in_kernel = how == CloseHow::kReset ? connection.port_->unsent_bytes(connection.stream_) : 0;
  for (Draining& each : drains_) each.drain->lost(queued, in_kernel);
}

void ConnectionSet::count_end(const Connection& connection) {
  const CloseReason reason = connection.reason_;
  const bool forced = reason == CloseReason::kDrainDeadline || reason == CloseReason::kLingerTimeout ||
                      reason == CloseReason::kWriteTooSlow || reason == CloseReason::kNeitherRead ||
                      reason == CloseReason::kLoopStopped;
  ++(forced ? stats_.drain_forced : stats_.drained);
  for (Draining& each : drains_) each.drain->ended(forced);
}

void ConnectionSet::run(Callback<void(Connection&)>& task, Connection& connection) {
  if (!call(task, connection)) connection.end(CloseReason::kCallbackThrew);
}

NetStats ConnectionSet::stats_now() const {
  NetStats stats = stats_;
  stats.lost_calls = lost_.load(std::memory_order_relaxed);
  return stats;
}

// Posts each forced end as a task of its own, by insist(). So the end takes effect in order: after the tasks that the
// calling thread has posted before, and before the tasks that it posts next.
bool ConnectionSet::force_end(uint32_t slot, uint32_t generation, ForcedEnd end_how) {
  {
    const std::lock_guard lock(forced_ends_mutex_);
    auto [at, is_first] = forced_ends_.try_emplace({slot, generation}, end_how);
    if (!is_first && at->second >= end_how) return true;
    at->second = end_how;
  }
  const bool taken = mailbox_->insist(
      [keep = shared_from_this(), slot, generation, end_how] { keep->apply_forced_end(slot, generation, end_how); });
  if (taken) return true;
  const std::lock_guard lock(forced_ends_mutex_);
  forced_ends_.clear();
  return false;
}

void ConnectionSet::apply_forced_end(uint32_t slot, uint32_t generation, ForcedEnd end_how) {
  {
    const std::lock_guard lock(forced_ends_mutex_);
    forced_ends_.erase({slot, generation});
  }
  Connection* connection = find(slot, generation);
  if (connection == nullptr) return;
  switch (end_how) {
    case ForcedEnd::kClose: return connection->close();
    case ForcedEnd::kAbort: return connection->abort();
    case ForcedEnd::kSendRefused: return connection->end(CloseReason::kSendRefused, CloseHow::kReset);
  }
}

bool ConnectionSet::note_exception() {
  ++stats_.exceptions;
  if (const auto suppressed = exception_limiter_.admit(loop_->now())) {
    PEAL_LOG_ERROR("a connection's callback threw: {} ({} more like it)", what_was_thrown(), *suppressed);
  }
  return false;
}

}  // namespace peal::detail
