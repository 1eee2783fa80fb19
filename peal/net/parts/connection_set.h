// SPDX-License-Identifier: BSD-3-Clause
// ConnectionSet: the connections that one Server or Client has on one loop, with the callbacks and options they share.
// It belongs to that loop. Its handles share ownership of it, and it holds a reference to itself while it has a
// connection.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/log_limiter.h>
#include <peal/base/slot_table.h>
#include <peal/loop/loop.h>
#include <peal/loop/mailbox.h>
#include <peal/net/connection.h>
#include <peal/net/net_stats.h>
#include <peal/net/parts/admission.h>
#include <peal/net/parts/drain.h>

namespace peal::detail {

// The ends that a handle can force although the loop's mailbox is full, weakest first. If several are requested before
// the loop runs them, the strongest applies.
enum class ForcedEnd : uint8_t { kClose, kAbort, kSendRefused };

class ConnectionSet : public std::enable_shared_from_this<ConnectionSet> {
 public:
  ConnectionSet(Loop& loop, std::shared_ptr<ConnectionCallbacks> callbacks, const ConnectionOptions& options)
      : loop_(&loop), mailbox_(loop.mailbox()), callbacks_(std::move(callbacks)), options_(in_range(options)) {}

  // Opens a connection over an accepted stream, as soon as the caps allow it and a handshake is done.
  void adopt(LooseStream stream);
  // Starts connecting, and returns the connection, which is not open yet. Closing it cancels the attempt.
  Connection& connect(const SocketAddress& address, const ConnectOptions& options);
  // Called once for every connect(): without an error just before on_open, or with an error after the failed connection
  // was released. ECANCELED means that it was closed before it was open.
  Callback<void(const ConnectionHandle& which, std::error_code error)> on_connect_done;
  // Called after on_close of each connection that had been open. `wanted_here` is true if this side asked for the end.
  Callback<void(const ConnectionHandle& which, bool wanted_here)> on_connection_gone;

  // Returns the connection, or null if it has ended. Counts a late call in that case.
  Connection* find(uint32_t slot, uint32_t generation);
  // Calls `visit` with each connection that is not closed; `visit` may end connections.
  template <class Visit>
  void each(Visit&& visit) {
    for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
      Connection& connection = table_[slot];
      if (connection.generation != 0 && connection.life() != ConnectionLife::kClosed) visit(connection);
    }
  }
  // Sets the limits that newcomers must pass. Must be called before there is any connection.
  void cap(std::shared_ptr<Admission> admission) { caps_ = std::make_unique<ConnectionCaps>(std::move(admission)); }
  ConnectionCaps* caps() { return caps_.get(); }
  // Returns whether an option requires that connections are tracked from on_open on.
  bool watches() const;
  // Drains: waits for the end of all connections, those that open later included, and resets what is left after
  // `deadline`. If `ask` is true, each connection is also asked to end.
  void drain(std::shared_ptr<Drain> drain, Duration deadline, bool ask);
  bool asks_to_end() const { return asks_; }
  // Returns the drains in progress. A drain reports only after the last holder has released it.
  std::vector<std::shared_ptr<Drain>> drains() const {
    std::vector<std::shared_ptr<Drain>> all;
    all.reserve(drains_.size());
    for (const Draining& each : drains_) all.push_back(each.drain);
    return all;
  }
  // Asks one connection to end: calls on_drain, or closes it once it has no unconsumed input.
  void drain_one(Connection& connection);

  // Private functions of Connection, made available to ConnectionCaps and MemoryRelief.
  static CapEntry& give_cap_entry(Connection& connection);
  static CapEntry& cap_entry(const Connection& connection);
  static void set_successor(CapEntry& cap_entry, const Connection& successor) {
    cap_entry.successor_slot = successor.slot;
    cap_entry.successor_generation = successor.generation;
  }
  static bool is_idle(const Connection& connection) { return connection.is_idle(); }
  static void evict(Connection& connection) { connection.end(CloseReason::kEvicted); }
  static size_t memory_bytes(const Connection& connection) { return connection.memory_bytes(); }
  static void end_over_budget(Connection& connection) { connection.end_over_budget(); }
  static void pause_for_budget(Connection& connection) { connection.pause_for_budget(); }
  static void resume_after_budget(Connection& connection) { connection.resume_after_budget(); }

  // Private functions of Connection, made available to PipePair.
  static std::shared_ptr<ConnectionSet> set_of(const Connection& side) { return side.set_->shared_from_this(); }
  static bool can_be_piped(const Connection& connection) { return connection.can_be_piped(); }
  static void enter_pipe(Connection& connection, PipePair& pair) { connection.enter_pipe(pair); }
  static Buffer take_kept(Connection& connection) {
    return connection.has(Connection::kKeptInput) ? connection.take_kept() : Buffer();
  }
  static bool peer_ended(const Connection& connection) { return connection.peer_ended_; }
  // Returns whether this end of a pipe may be read, so that its input is sent to the other end.
  static bool can_be_read(const Connection& connection) {
    return connection.is_open() && connection.read_stops_ == 0 && !connection.peer_ended_;
  }
  // Returns whether this end of a pipe accepts what the other end has read.
  static bool can_be_sent_to(const Connection& connection) {
    return connection.is_open() && !connection.stopped_by(Connection::kOverBudget) &&
           !connection.has(Connection::kAboveHighWater);
  }
  // Must be called when the connection's queue has shrunk to `left_bytes`. Returns true if the connection accepts
  // output again: at half of the high-water mark or below.
  static bool drained(Connection& connection, size_t left_bytes) {
    if (left_bytes > connection.high_water_bytes_ / 2) return false;
    connection.set_slow_path(Connection::kAboveHighWater, false);
    return true;
  }
  static void receive(Connection& connection, bool on) { connection.port().receive(connection.stream_, on); }
  static void report_sent(Connection& connection) { connection.port().report_sent(connection.stream_); }
  static bool share_port(const Connection& a, const Connection& b) { return a.port_ == b.port_; }
  static bool forward(Connection& from, Connection& to) { return from.port().forward(from.stream_, to.stream_); }
  static uint64_t forwarded_bytes(const Connection& from) { return from.port().forwarded_bytes(from.stream_); }
  static void count_spliced(Connection& connection, uint64_t in, uint64_t out) { connection.count_spliced(in, out); }
  static void end_piped(Connection& rest, bool hard);
  static bool cut_by_drain(const Connection& connection) { return connection.reason_ == CloseReason::kDrainDeadline; }

  // Counts the end of a connection, just before its port closes it. reason_ is set already.
  void note_end(const Connection& connection, CloseHow how);
  // Counts output of a connection that nobody will send, because the loop has ended.
  void note_lost(uint64_t bytes) {
    for (Draining& each : drains_) each.drain->lost(bytes, 0);
  }
  LogLimiter& dump_limiter() { return dump_limiter_; }
  // Ends every connection without calling a callback. Output that the kernel has already taken is still sent.
  void retire();

  Loop& loop() const { return *loop_; }
  Mailbox& mailbox() const { return *mailbox_; }
  const std::shared_ptr<Mailbox>& shared_mailbox() const { return mailbox_; }
  ConnectionCallbacks& callbacks() const { return *callbacks_; }
  const ConnectionOptions& options() const { return options_; }
  // Returns whether full output pauses receiving.
  bool pauses_when_full() const { return options_.when_output_is_full == WhenOutputIsFull::kPauseInput; }
  // Returns the port of ConnectionOptions::layer on this loop, and makes it at the first call.
  StreamPort& layer_port();
  // Stores the host name for a layer that the connection in this slot starts later.
  void set_layer_host(uint32_t slot, std::string_view host) { layer_hosts_[slot] = host; }
  std::string take_layer_host(uint32_t slot) {
    const auto host = layer_hosts_.extract(slot);
    return host ? std::move(host.mapped()) : std::string();
  }
  bool retired() const { return retired_; }
  // Returns the number of connections that are here or on their way here. May be read and changed on any thread.
  std::atomic<size_t>& load() { return load_; }
  NetStats& stats() { return stats_; }
  // Ends a connection although the mailbox is full. Any thread. Returns false if the loop has ended, and the connection
  // with it. At most one task is posted for each connection and kind.
  bool force_end(uint32_t slot, uint32_t generation, ForcedEnd end_how);
  void count_lost() { lost_.fetch_add(1, std::memory_order_relaxed); }
  NetStats stats_now() const;

  // Calls a user's callback. Must not be called if retired(). Returns false if the callback threw; the exception is
  // logged and counted, and the loop runs on.
  template <class Callback, class... Args>
  bool call(Callback& callback, Args&&... args) {
    if (!callback) [[unlikely]]
      return true;
    try {
      callback(std::forward<Args>(args)...);
      return true;
    } catch (...) {
      return note_exception();
    }
  }
  // Must be called in a catch block: logs and counts the exception. Always returns false.
  [[gnu::cold]] bool note_exception();
  // Calls a task that was passed to ConnectionHandle::run(). If it throws, the connection ends as after a callback.
  void run(Callback<void(Connection&)>& task, Connection& connection);
  // Ends the life of a connection after its port's last completion: calls on_close, then frees its slot.
  void release(Connection& connection);

 private:
  static ConnectionOptions in_range(ConnectionOptions options);
  Connection& make();
  void count_end(const Connection& connection);
  void drop_callbacks();
  void open_successor(const CapEntry& cap_entry);
  void take_place(Connection& connection);
  void apply_forced_end(uint32_t slot, uint32_t generation, ForcedEnd end_how);
  void force();
  void finish_drains();

  Loop* const loop_;  // may be used only on the loop's thread
  const std::shared_ptr<Mailbox> mailbox_;
  // Reset when the set is retired and empty, because callbacks may hold handles, which refer to this set.
  std::shared_ptr<ConnectionCallbacks> callbacks_;
  const ConnectionOptions options_;
  SlotTable<Connection> table_;
  std::shared_ptr<ConnectionSet> self_;  // set while there is a connection
  std::atomic<size_t> load_ = 0;
  std::atomic<uint64_t> lost_ = 0;
  std::mutex forced_ends_mutex_;
  std::map<std::pair<uint32_t, uint32_t>, ForcedEnd> forced_ends_;  // by slot and generation; guarded by the mutex
  NetStats stats_;
  struct Draining {
    std::shared_ptr<Drain> drain;
    TimerId deadline;
  };
  std::unique_ptr<ConnectionCaps> caps_;         // null if there are no caps
  std::unique_ptr<StreamPort> layer_port_;       // null if there is no layer, or no connection has used it yet
  std::map<uint32_t, std::string> layer_hosts_;  // by slot
  std::vector<Draining> drains_;                 // in progress
  LogLimiter dump_limiter_{std::chrono::seconds(1)}, exception_limiter_{std::chrono::seconds(1)};
  // These flags are never reset.
  bool draining_ = false;
  bool asks_ = false;  // drain() was called with `ask`
  bool retired_ = false;
};

}  // namespace peal::detail

namespace peal {

inline void Connection::record_event(FlightKind kind, uint64_t bytes) {
  Loop& its_loop = set_->loop();
  its_loop.flight_recorder()->record([&] { return its_loop.now(); }, flight_id(), kind, bytes);
}

// Returns true if the connection is plain except for the recorder, which has recorded the event then. Runs twice for
// each echoed message, so this path calls no function that is not inline.
inline bool Connection::only_recorded(FlightKind kind, uint64_t bytes) {
  return has_only(kRecorded) && set_->loop().flight_recorder()->record_by_cycles(flight_id(), kind, bytes);
}

}  // namespace peal
