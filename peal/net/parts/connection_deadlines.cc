// SPDX-License-Identifier: BSD-3-Clause
// Connections that are tracked: their deadlines, their last activity, and the events for the flight recorder. All of it
// is optional. Without any such option, a connection gets here only when its output crosses the high-water mark.
//
// Each connection has one timer for its deadlines. Activity only stores the time and does not move the timer. When the
// timer runs, it checks the deadlines and is set again to the earliest time at which one of them can pass.
#include <algorithm>
#include <array>
#include <cerrno>

#include <peal/base/log.h>
#include <peal/base/memory/memory_budget.h>
#include <peal/loop/loop.h>
#include <peal/net/connection.h>
#include <peal/net/parts/admission.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/pipe_pair.h>
#include <peal/net/parts/tracked.h>

namespace peal {

using detail::Tracked;

void Connection::DeleteTracked::operator()(Tracked* tracked) const { delete tracked; }

Tracked& Connection::tracked() {
  if (!tracked_) tracked_.reset(new Tracked{.active = loop().now()});
  return *tracked_;
}

detail::PipePair* Connection::pipe_pair() const { return tracked_ == nullptr ? nullptr : tracked_->pipe_pair; }

// Begins to track the connection as the options require. A new option that needs tracking must also be checked in
// ConnectionSet::watches().
void Connection::begin_watching() {
  Tracked& own = tracked();
  own.active = loop().now();
  const ConnectionOptions& options = set_->options();
  const bool recorded = loop().flight_recorder() != nullptr;
  remember_peer();
  set_slow_path(kRecorded, recorded);
  set_slow_path(kTracked,
                options.idle_timeout > Duration::zero() || options.min_read_bytes > 0 || own.cap_entry != nullptr);
  record(FlightKind::kOpened);
  if (options.idle_timeout > Duration::zero()) watch_until(own.active + options.idle_timeout);
  if (own.cap_entry) set_->caps()->list_as_evictable(*this);
}

// Stores the peer's address as early as possible, because a socket that was reset does not know it any more.
void Connection::remember_peer() {
  const bool wanted = set_->options().remember_peer || loop().flight_recorder() != nullptr;
  if (!wanted || tracked().peer) return;
  if (Result<SocketAddress> peer = port_->peer_address(stream_)) {
    tracked_->peer = std::make_unique<SocketAddress>(*peer);
  }
}

Result<SocketAddress> Connection::peer_address() const {
  if (tracked_ && tracked_->peer) return *tracked_->peer;
  return port_->peer_address(stream_);
}

void Connection::note_activity() {
  tracked_->active = loop().now();
  if (tracked_->cap_entry) set_->caps()->mark_most_recent(*tracked_->cap_entry);
}

void Connection::note_received(size_t bytes) {
  record(FlightKind::kReceived, bytes);
  if (has(kTracked)) note_activity();
}

// Called when a layer has received an incomplete record, also during a handshake. The peer must then send the rest of
// the record at the rate of min_read_bytes, as it must for a message that on_message leaves incomplete.
void Connection::on_withheld() {
  if (!is_open() && !is_beginning()) return;
  if (MemoryBudget::above_hard()) return end_over_budget();
  if (has(kTracked)) note_activity();
  if (!is_piped()) watch_input();
}

void Connection::note_sent(size_t bytes) {
  record(FlightKind::kSent, bytes);
  if (!has(kTracked)) return;
  note_activity();
  watch_output();
}

void Connection::note_high_water(size_t queued) {
  record(FlightKind::kAboveHighWater, queued);
  watch_output();
  if (tracked_) tracked_->was_queued = true;
}

void Connection::expect_input(bool on) {
  expects_input_ = on;
  if (!is_open()) return;
  if (on) {
    const bool was_stopped = stopped_by(kOutputFull);
    stop_reading(kOutputFull, false);
    if (was_stopped) start_or_stop_reading();
    watch_input();
  } else {
    note_input_shown();
  }
}

// Must be called when all input was passed to the protocol. Closes the connection if it is draining and its protocol
// has no work in progress. Otherwise ends the read window. Does nothing while a part of a message is kept.
void Connection::note_input_shown() {
  if (!is_open() || has_part()) return;
  if (has(kDrains) && !is_working()) return close();
  if (tracked_ && !expects_input_) tracked_->read.since = kNever;
}

void Connection::watch_input() {
  const ConnectionOptions& options = set_->options();
  if (options.min_read_bytes == 0 || tracked().read.runs()) return;
  tracked_->read = {.since = loop().now(), .bytes = arrived_bytes(), .least = options.min_read_bytes};
  watch_until(tracked_->read.since + options.read_window);
}

void Connection::watch_output() {
  if (!lives() || least_write_bytes() == 0 || tracked().write.runs()) return;
  begin_write_window();
  watch_until(tracked_->write.since + set_->options().write_window);
}

// Returns how many bytes the peer must take in each write_window: min_write_bytes, and at least 1 during a graceful
// end. Without that 1, a graceful end to a peer that takes nothing would never end.
uint64_t Connection::least_write_bytes() const {
  return std::max<uint64_t>(set_->options().min_write_bytes, is_open() ? 0 : 1);
}

// Returns how many bytes the peer must still take. For an open connection, that is the queued output. In a graceful
// end, it is all output that the peer has not acknowledged.
uint64_t Connection::owed_bytes() const { return is_open() ? queued_bytes() : undelivered_bytes(); }

// Starts a write window. Before the window ends, the peer must take min_write_bytes, or all of the bytes that
// owed_bytes() counts now if those are fewer.
void Connection::begin_write_window() {
  tracked_->write = {
      .since = loop().now(), .bytes = drained_bytes(), .least = std::min(least_write_bytes(), owed_bytes())};
  tracked_->write_acknowledged = acknowledged_bytes();
}

uint64_t Connection::drained_bytes() const { return sent_bytes_ - std::min<uint64_t>(queued_bytes(), sent_bytes_); }

// Returns how many of the sent bytes the peer has acknowledged. The kernel accepts new output only in large steps, when
// a good part of its buffer is free. Between two steps, only this number tells a slow peer from a peer that does not
// read.
uint64_t Connection::acknowledged_bytes() const {
  const uint64_t drained = drained_bytes();
  return drained - std::min(port_->unsent_bytes(stream_), drained);
}

void Connection::watch_until(TimePoint due) {
  Tracked& own = *tracked_;
  if (due >= own.due) return;
  own.due = due;
  if (own.timer && loop().rearm(own.timer, due)) return;
  own.timer = loop().at(due, [this] { check_deadlines(); });
}

void Connection::check_deadlines() {
  Tracked& own = *tracked_;
  own.timer = {};
  own.due = kNever;
  if (fast_path_.state == State::kClosed) return;
  const bool reads = is_open() || is_beginning();
  CloseReason reason = CloseReason::kLocal;
  if (is_open() && passed_idle_timeout()) reason = CloseReason::kIdle;
  if (reads && passed_read_window()) reason = CloseReason::kReadTooSlow;
  if (passed_write_window()) reason = read_stops_ == 0 ? CloseReason::kWriteTooSlow : CloseReason::kNeitherRead;
  if (reason != CloseReason::kLocal) {
    record(FlightKind::kDeadline);
    if (!is_open() && reads) note_error(errno_code(ETIMEDOUT));
    if (fast_path_.state == State::kHandshaking) ++set_->stats().handshakes_failed;
    return end(reason, reason == CloseReason::kIdle ? CloseHow::kNormal : CloseHow::kReset);
  }
  const ConnectionOptions& options = set_->options();
  if (is_open() && options.idle_timeout > Duration::zero()) watch_until(own.active + options.idle_timeout);
  if (reads && own.read.runs()) watch_until(own.read.since + options.read_window);
  if (own.write.runs()) watch_until(own.write.since + options.write_window);
}

// Returns whether idle_timeout has passed without activity. Output that leaves the queue is activity too, but no
// function is called for it. So each check compares how many bytes have left with the number at the last check. If the
// numbers differ, the time of this check counts as the time of the last activity.
bool Connection::passed_idle_timeout() {
  const Duration timeout = set_->options().idle_timeout;
  if (timeout == Duration::zero()) return false;
  Tracked& own = *tracked_;
  const bool queued = queued_bytes() > 0;
  if (queued || own.was_queued || is_piped()) {
    const uint64_t moved = acknowledged_bytes() + (is_piped() ? pipe_pair()->moved_bytes() : 0);
    if (moved != std::exchange(own.moved_bytes, moved)) own.active = loop().now();
  }
  own.was_queued = queued;
  return loop().now() >= own.active + timeout;
}

bool Connection::passed_read_window() {
  Tracked& own = *tracked_;
  if (!own.read.runs() || loop().now() < own.read.since + set_->options().read_window) return false;
  // A layer's record may have become complete after the window began, without any content for on_message. So the port
  // is asked whether it still waits for the rest of a record.
  const bool has_half = !is_piped() && port_->waits_for_rest(stream_);
  const bool asked = !is_open() || awaits_input();
  const bool waits = asked && (has_kept() || expects_input_ || has_half);
  const uint64_t arrived = arrived_bytes();
  if (waits && read_stops_ == 0 && !peer_ended_ && arrived - own.read.bytes < own.read.least) return true;
  own.read.since = peer_ended_ || (asked && !waits) ? kNever : loop().now();
  own.read.bytes = arrived;
  return false;
}

bool Connection::passed_write_window() {
  Tracked& own = *tracked_;
  if (!own.write.runs() || loop().now() < own.write.since + set_->options().write_window) return false;
  if (owed_bytes() == 0) {
    own.write.since = kNever;
    return false;
  }
  const uint64_t acknowledged = std::max(acknowledged_bytes(), own.write_acknowledged) - own.write_acknowledged;
  const uint64_t taken = std::max(drained_bytes() - own.write.bytes, acknowledged);
  if (taken < own.write.least) return true;
  begin_write_window();
  return false;
}

// Returns whether closing the connection now would lose no data and interrupt no work.
bool Connection::is_idle() const {
  if (fast_path_.state == State::kHandshaking) return !busy_;
  if (tracked_ && tracked_->gathered_bytes > 0) return false;
  return is_open() && !busy_ && !is_working() && !has_part() && !is_piped() && queued_bytes() == 0;
}

// Logs the last events of a connection that ends abnormally. Must be called before the socket is closed, because a
// closed socket does not know its addresses.
void Connection::log_abnormal_end() {
  using enum CloseReason;
  constexpr std::array kNormal{kLocal,       kAborted, kPeerClosed, kPipeEnded,
                               kLoopStopped, kIdle,    kEvicted,    kDrainDeadline};
  if (std::ranges::find(kNormal, shown_reason()) != kNormal.end()) return;
  std::optional<uint64_t> suppressed = set_->dump_limiter().admit(loop().now());
  if (!suppressed) return;
  auto text = [](const Result<SocketAddress>& address) { return address ? address->to_string() : "?"; };
  auto words = [](uint64_t why) { return to_string(static_cast<CloseReason>(why)); };
  std::string events = loop().flight_recorder()->dump(flight_id(), 64, words);
  if (events.ends_with('\n')) events.pop_back();
  PEAL_LOG_WARN("connection {} <- {} ended: {} ({} such ends not logged); its last events:\n{}", text(local_address()),
                text(peer_address()), to_string(shown_reason()), *suppressed, LogLines{events});
}

}  // namespace peal
