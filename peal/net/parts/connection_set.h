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

// How a ConnectionHandle can end a connection although the loop's mailbox is full, weakest end first. If several ends
// are requested for one connection before the loop handles the first of them, the strongest end applies.
enum class ForcedEnd : uint8_t { kClose, kAbort, kSendRefused };

class ConnectionSet : public std::enable_shared_from_this<ConnectionSet> {
 public:
  ConnectionSet(Loop& loop, std::shared_ptr<ConnectionCallbacks> callbacks, const ConnectionOptions& options)
      : loop_(&loop), mailbox_(loop.mailbox()), callbacks_(std::move(callbacks)), options_(in_range(options)) {}

  // Creates a connection over an accepted stream. The connection opens as soon as the server's limits allow that and
  // its layer's handshake is done.
  void adopt(LooseStream stream);
  // Starts connecting, and returns the connection, which is not open yet. Closing that connection cancels the attempt.
  Connection& connect(const SocketAddress& address, const ConnectOptions& options);
  // Called once for every connect(). If the connection opens, `error` is empty and the call comes just before on_open.
  // If connecting fails, `error` says why and the call comes when the connection was released. ECANCELED means that the
  // connection was closed before it was open.
  Callback<void(const ConnectionHandle& which, std::error_code error)> on_connect_done;
  // Called after on_close of each connection that had been open. `wanted_here` is true if close() or abort() was called
  // on this side, or if the loop has ended.
  Callback<void(const ConnectionHandle& which, bool wanted_here)> on_connection_gone;

  // Returns the connection with this slot and generation. If that connection has ended, adds 1 to NetStats::late_calls
  // and returns null.
  Connection* find(uint32_t slot, uint32_t generation);
  // Returns ConnectionFacts::age.
  static Duration age(const Connection& connection);
  // Calls `visit` with each connection that is not closed; `visit` may end connections.
  template <class Visit>
  void each(Visit&& visit) {
    for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
      Connection& connection = table_[slot];
      if (connection.generation != 0 && connection.life() != ConnectionLife::kClosed) visit(connection);
    }
  }
  // Sets the limits for new connections. Must be called before the set has any connection.
  void cap(std::shared_ptr<Admission> admission) { caps_ = std::make_unique<ConnectionCaps>(std::move(admission)); }
  ConnectionCaps* caps() { return caps_.get(); }
  // Returns whether an option requires that connections are tracked (Tracked) from on_open on.
  bool watches() const;
  // Begins a drain, which waits for the end of all connections, including those that open later. After `deadline`, the
  // connections that are left are reset. on_drain is called for each connection. If on_drain is unset, `ask` decides:
  // if `ask` is true, each connection is closed once it has no unconsumed input; if `ask` is false, the connections
  // stay open until `deadline`.
  void drain(std::shared_ptr<Drain> drain, Duration deadline, bool ask);
  bool asks_to_end() const { return asks_; }
  // Returns the drains in progress. A drain calls its on_done only after the last of these pointers to it was released.
  std::vector<std::shared_ptr<Drain>> drains() const {
    std::vector<std::shared_ptr<Drain>> all;
    all.reserve(drains_.size());
    for (const Draining& each : drains_) all.push_back(each.drain);
    return all;
  }
  // Asks one connection to end by calling on_drain. If on_drain is unset, closes the connection once it has no
  // unconsumed input.
  void drain_one(Connection& connection);

  // The functions from give_cap_entry() to resume_after_budget() call private functions of Connection for
  // ConnectionCaps and MemoryRelief.
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

  // The functions from set_of() to cut_by_drain() call private functions of Connection for PipePair.
  static std::shared_ptr<ConnectionSet> set_of(const Connection& side) { return side.set_->shared_from_this(); }
  static bool can_be_piped(const Connection& connection) { return connection.can_be_piped(); }
  static void enter_pipe(Connection& connection, PipePair& pair) { connection.enter_pipe(pair); }
  static Buffer take_kept(Connection& connection) {
    return connection.has(Connection::kKeptInput) ? connection.take_kept() : Buffer();
  }
  static bool peer_ended(const Connection& connection) { return connection.peer_ended_; }
  // Returns whether `connection`, which is piped, may be read. Its input is sent to the other connection of the pipe.
  static bool can_be_read(const Connection& connection) {
    return connection.is_open() && connection.read_stops_ == 0 && !connection.peer_ended_;
  }
  // Returns whether `connection`, which is piped, accepts more bytes from the other connection of the pipe.
  static bool can_be_sent_to(const Connection& connection) {
    return connection.is_open() && !connection.stopped_by(Connection::kOverBudget) &&
           !connection.has(Connection::kAboveHighWater);
  }
  // Must be called when the connection's output queue has shrunk to `left_bytes`. Returns true if `left_bytes` is at
  // most half of the high-water mark. The connection then accepts output again.
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

  // Counts the end of a connection. Must be called just before StreamPort::close(), when the connection's reason_ is
  // already set.
  void note_end(const Connection& connection, CloseHow how);
  // Counts `bytes` of queued output that will not be sent, because the loop has ended.
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
  // Returns whether receiving pauses while more output is queued than the high-water mark.
  bool pauses_when_full() const { return options_.when_output_is_full == WhenOutputIsFull::kPauseInput; }
  // Returns the port of ConnectionOptions::layer on this loop. Creates the port at the first call.
  StreamPort& layer_port();
  // Stores the host name for a layer that the connection in this slot starts later. take_layer_host() removes and
  // returns that name.
  void set_layer_host(uint32_t slot, std::string_view host) { layer_hosts_[slot] = host; }
  std::string take_layer_host(uint32_t slot) {
    const auto host = layer_hosts_.extract(slot);
    return host ? std::move(host.mapped()) : std::string();
  }
  bool retired() const { return retired_; }
  // Returns the number of connections that are on this loop or on their way to it. The number may be read and changed
  // on any thread.
  std::atomic<size_t>& load() { return load_; }
  NetStats& stats() { return stats_; }
  // Ends a connection even if the mailbox is full. May be called on any thread. Returns false if the loop has ended,
  // which has ended the connection too. Posts at most one task for each connection and kind of end.
  bool force_end(uint32_t slot, uint32_t generation, ForcedEnd end_how);
  void count_lost() { lost_.fetch_add(1, std::memory_order_relaxed); }
  NetStats stats_now() const;

  // Calls a callback of the user. Must not be called if retired() is true. Returns false if the callback threw an
  // exception, which is then logged and counted and does not end the loop.
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
  // Calls a task that was passed to ConnectionHandle::run(). If the task throws, the connection ends with
  // CloseReason::kCallbackThrew.
  void run(Callback<void(Connection&)>& task, Connection& connection);
  // Must be called when the port reports that it has closed the connection's stream. Calls on_close, then frees the
  // connection's slot.
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
  // The user's callbacks. They may hold ConnectionHandles, which own this set, so they are destroyed as soon as the set
  // is retired and has no connection left.
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
  std::unique_ptr<ConnectionCaps> caps_;         // null if there are no limits
  std::unique_ptr<StreamPort> layer_port_;       // null if there is no layer, or no connection has used it yet
  std::map<uint32_t, std::string> layer_hosts_;  // by slot
  std::vector<Draining> drains_;                 // in progress
  LogLimiter dump_limiter_{std::chrono::seconds(1)}, exception_limiter_{std::chrono::seconds(1)};
  // Once draining_, asks_ or retired_ is true, it stays true.
  bool draining_ = false;
  bool asks_ = false;  // drain() asked the connections to end
  bool retired_ = false;
};

}  // namespace peal::detail

namespace peal {

inline void Connection::record_event(FlightKind kind, uint64_t bytes) {
  Loop& its_loop = set_->loop();
  its_loop.flight_recorder()->record([&] { return its_loop.now(); }, flight_id(), kind, bytes);
}

// If the flight recorder is the connection's only reason for the slow path and needs no clock for this event, records
// the event and returns true. Otherwise records nothing and returns false. This function is called twice for each
// echoed message, so it calls only inline functions.
inline bool Connection::only_recorded(FlightKind kind, uint64_t bytes) {
  return has_only(kRecorded) && set_->loop().flight_recorder()->record_by_cycles(flight_id(), kind, bytes);
}

}  // namespace peal
