// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/connection_set.h>

#include <cerrno>

#include <peal/base/log.h>

namespace peal::detail {

Connection& ConnectionSet::make() {
  if (table_.size() == 0) self_ = shared_from_this();
  uint32_t slot = table_.acquire();
  Connection& connection = table_[slot];
  connection.slot_ = slot;
  connection.set_ = this;
  connection.engine_ = &loop_->engine();
  connection.high_water_bytes_ = options_.high_water_bytes;
  connection.received_bytes_ = connection.sent_bytes_ = 0;
  connection.timer_ = {};
  connection.error_ = 0;
  connection.reason_ = CloseReason::kLoopStopped;
  connection.was_open_ = connection.peer_ended_ = connection.paused_ = connection.above_high_water_ = false;
  connection.output_failed_ = connection.ended_here_ = false;
  return connection;
}

void ConnectionSet::adopt(LooseStream stream) {
  if (retired_) {
    load_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  Connection& connection = make();
  connection.state_ = Connection::State::kConnecting;
  connection.stream_ = loop_->engine().adopt(std::move(stream), connection);
  connection.open();
}

Connection& ConnectionSet::connect(const SocketAddress& address, const ConnectOptions& options) {
  load_.fetch_add(1, std::memory_order_relaxed);
  Connection& connection = make();
  connection.state_ = Connection::State::kConnecting;
  connection.stream_ = loop_->engine().connect(address, options, connection);
  return connection;
}

Connection* ConnectionSet::find(uint32_t slot, uint32_t generation) {
  Connection* connection = table_.find(slot, generation);
  if (connection != nullptr && connection->state_ != Connection::State::kClosed) return connection;
  ++stats_.late_calls;
  return nullptr;
}

void ConnectionSet::retire() {
  retired_ = true;
  std::shared_ptr<ConnectionSet> keep = shared_from_this();
  for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
    if (table_[slot].generation != 0) table_[slot].end(CloseReason::kLocal);
  }
  if (table_.size() == 0) callbacks_.reset();
}

void ConnectionSet::release(Connection& connection) {
  std::shared_ptr<ConnectionSet> keep = self_;
  const bool was_open = connection.was_open_;
  if (was_open) {
    ++stats_.closed;
    if (!retired_) call(callbacks_->on_close, connection, connection.reason_);
  } else {
    ++stats_.connect_failed;
  }
  const bool wanted_here = connection.ended_here_ || connection.reason_ == CloseReason::kLoopStopped;
  const std::error_code error = connection.error_ == 0 ? errno_code(ECANCELED) : connection.error();
  ConnectionHandle which;
  if (on_connect_done) which = connection.handle();
  connection.input_.clear();
  connection.context_ = {nullptr, &Connection::no_context};
  table_.release(connection.slot_);
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (table_.size() == 0) {
    self_.reset();
    if (retired_) callbacks_.reset();
  }
  if (which && !retired_) tell_owner(which, was_open, wanted_here, error);
}

void ConnectionSet::tell_owner(const ConnectionHandle& which, bool was_open, bool wanted_here, std::error_code error) {
  if (was_open) {
    call(on_connection_gone, which, wanted_here);
  } else {
    call(on_connect_done, which, error);
  }
}

void ConnectionSet::run(std::move_only_function<void(Connection&)>& task, Connection& connection) {
  if (!call(task, connection)) connection.end(CloseReason::kCallbackThrew);
}

NetStats ConnectionSet::stats_now() const {
  NetStats stats = stats_;
  stats.lost_calls = lost_.load(std::memory_order_relaxed);
  return stats;
}

bool ConnectionSet::note_exception() {
  ++stats_.exceptions;
  try {
    throw;
  } catch (const std::exception& error) {
    PEAL_LOG_ERROR("a connection's callback threw: {}", error.what());
  } catch (...) {
    PEAL_LOG_ERROR("a connection's callback threw something that is no std::exception");
  }
  return false;
}

}  // namespace peal::detail
