// SPDX-License-Identifier: BSD-3-Clause
// ConnectionSet: the connections that one Server or Client has on one loop, with the callbacks and options they share.
// It belongs to that loop; counted, because handles refer to it, and it keeps itself alive while a connection lives.
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

// What becomes of a connection though its loop's mailbox is full; each includes those before it.
enum class ForcedEnd : uint8_t { kClose, kAbort, kSendRefused };

class ConnectionSet : public std::enable_shared_from_this<ConnectionSet> {
 public:
  ConnectionSet(Loop& loop, std::shared_ptr<ConnectionCallbacks> callbacks, const ConnectionOptions& options)
      : loop_(&loop), mailbox_(loop.mailbox()), callbacks_(std::move(callbacks)), options_(in_range(options)) {}

  // Opens a connection over an accepted stream.
  void adopt(LooseStream stream);
  // Starts connecting. Closing it before it is open cancels.
  Connection& connect(const SocketAddress& address, const ConnectOptions& options);
  // Called once for every connect(): before on_open, or with the error when all of a failed one is undone
  // (ECANCELED: closed before it was open).
  Callback<void(const ConnectionHandle& which, std::error_code error)> on_connect_done;
  // Called after on_close of each connection that had been open. `wanted_here`: its end was asked for on this side.
  Callback<void(const ConnectionHandle& which, bool wanted_here)> on_connection_gone;

  Connection* find(uint32_t slot, uint32_t generation);
  // Calls `visit` with each that is not closed; it may end them.
  template <class Visit>
  void each(Visit&& visit) {
    for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
      Connection& connection = table_[slot];
      if (connection.generation != 0 && connection.life() != ConnectionLife::kClosed) visit(connection);
    }
  }
  // Before any connection: newcomers come in as the caps allow.
  void cap(std::shared_ptr<Admission> admission) { caps_ = std::make_unique<ConnectionCaps>(std::move(admission)); }
  ConnectionCaps* caps() { return caps_.get(); }
  // Does anybody watch connections that open now?
  bool watches() const;
  // Waits for all connections, later ones too, and cuts off what is left after `deadline`. `ask`: each is also asked to
  // end.
  void drain(std::shared_ptr<Drain> drain, Duration deadline, bool ask);
  bool asks_to_end() const { return asks_; }
  // Those under way. Holding one delays its report.
  std::vector<std::shared_ptr<Drain>> drains() const {
    std::vector<std::shared_ptr<Drain>> all;
    all.reserve(drains_.size());
    for (const Draining& each : drains_) all.push_back(each.drain);
    return all;
  }
  void drain_one(Connection& connection);

  // What the loop's caps and its memory relief ask of a connection.
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

  // What a pipe asks of its ends.
  static std::shared_ptr<ConnectionSet> set_of(const Connection& side) { return side.set_->shared_from_this(); }
  static bool can_be_piped(const Connection& connection) { return connection.can_be_piped(); }
  static void enter_pipe(Connection& connection, PipePair& pair) { connection.enter_pipe(pair); }
  static Buffer take_kept(Connection& connection) {
    return connection.has(Connection::kKeptInput) ? connection.take_kept() : Buffer();
  }
  static bool peer_ended(const Connection& connection) { return connection.peer_ended_; }
  // Whether it may read, for the other end; whether it may be sent what the other reads.
  static bool can_be_read(const Connection& connection) {
    return connection.is_open() && connection.read_stops_ == 0 && !connection.peer_ended_;
  }
  static bool can_be_sent_to(const Connection& connection) {
    return connection.is_open() && !connection.stopped_by(Connection::kOverBudget) &&
           !connection.has(Connection::kAboveHighWater);
  }
  // Its queue is `left_bytes` long. True at half of the high-water mark or below: it takes more.
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

  // A connection is about to be closed with its reason_.
  void note_end(const Connection& connection, CloseHow how);
  // The loop ended with so much of a connection's output unsent.
  void note_lost(uint64_t bytes) {
    for (Draining& each : drains_) each.drain->lost(bytes, 0);
  }
  LogLimiter& dump_limiter() { return dump_limiter_; }
  // Ends every connection without a callback; output that the kernel has already still goes out.
  void retire();

  Loop& loop() const { return *loop_; }
  Mailbox& mailbox() const { return *mailbox_; }
  const std::shared_ptr<Mailbox>& shared_mailbox() const { return mailbox_; }
  ConnectionCallbacks& callbacks() const { return *callbacks_; }
  const ConnectionOptions& options() const { return options_; }
  // Whether full output pauses receiving.
  bool pauses_when_full() const { return options_.when_output_is_full == WhenOutputIsFull::kPauseInput; }
  StreamPort& layer_port();
  // Whom the layer that a connection starts later is to reach.
  void set_layer_host(uint32_t slot, std::string_view host) { layer_hosts_[slot] = host; }
  std::string take_layer_host(uint32_t slot) {
    const auto host = layer_hosts_.extract(slot);
    return host ? std::move(host.mapped()) : std::string();
  }
  bool retired() const { return retired_; }
  // Connections here or on their way here; any thread.
  std::atomic<size_t>& load() { return load_; }
  NetStats& stats() { return stats_; }
  // Any thread. False: the loop has ended, and the connection with it. At most one task a kind waits for a connection.
  bool force_end(uint32_t slot, uint32_t generation, ForcedEnd end_how);
  void count_lost() { lost_.fetch_add(1, std::memory_order_relaxed); }
  NetStats stats_now() const;

  // Calls a user's callback, which must not begin once retired(). False when an exception left it: logged, counted, and
  // the loop goes on.
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
  // Inside a handler: logs and counts what is being handled. Answers false.
  [[gnu::cold]] bool note_exception();
  // Calls a task that came through a handle, as one of the connection's callbacks.
  void run(Callback<void(Connection&)>& task, Connection& connection);
  // The engine holds nothing of it any more.
  void release(Connection& connection);

 private:
  static ConnectionOptions in_range(ConnectionOptions options);
  Connection& make();
  void count_end(const Connection& connection);
  void drop_callbacks();
  void open_successor(const CapEntry& cap_entry);
  void take_seat(Connection& connection);
  void apply_forced_end(uint32_t slot, uint32_t generation, ForcedEnd end_how);
  void force();
  void finish_drains();

  Loop* const loop_;  // good on the loop's thread only
  const std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<ConnectionCallbacks> callbacks_;  // null once retired and empty: they may hold handles to this
  const ConnectionOptions options_;
  SlotTable<Connection> table_;
  std::shared_ptr<ConnectionSet> self_;  // set while a connection lives
  std::atomic<size_t> load_ = 0;
  std::atomic<uint64_t> lost_ = 0;
  std::mutex forced_ends_mutex_;
  std::map<std::pair<uint32_t, uint32_t>, ForcedEnd> forced_ends_;  // by slot and generation; guarded by the mutex
  NetStats stats_;
  struct Draining {
    std::shared_ptr<Drain> drain;
    TimerId deadline;
  };
  std::unique_ptr<ConnectionCaps> caps_;         // none: no caps
  std::unique_ptr<StreamPort> layer_port_;       // none: no layer, or no connection over it yet
  std::map<uint32_t, std::string> layer_hosts_;  // by slot
  std::vector<Draining> drains_;                 // under way
  LogLimiter dump_limiter_{std::chrono::seconds(1)}, exception_limiter_{std::chrono::seconds(1)};
  bool draining_ = false;  // for good, as is:
  bool asks_ = false;
  bool retired_ = false;
};

}  // namespace peal::detail

namespace peal {

inline void Connection::record_event(FlightKind kind, uint64_t bytes) {
  Loop& its_loop = set_->loop();
  its_loop.flight_recorder()->record([&] { return its_loop.now(); }, flight_id(), kind, bytes);
}

// Plain but for the recorder, which now has it. Twice an echo, so it calls nothing.
inline bool Connection::only_recorded(FlightKind kind, uint64_t bytes) {
  return has_only(kRecorded) && set_->loop().flight_recorder()->record_by_cycles(flight_id(), kind, bytes);
}

}  // namespace peal
