// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/connection.h>

#include <cerrno>

#include <peal/base/memory/memory_budget.h>
#include <peal/loop/loop.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/pipe_pair.h>
#include <peal/net/parts/tracked.h>

namespace peal {

std::string_view to_string(CloseReason reason) {
  switch (reason) {
    case CloseReason::kLocal: return "closed here";
    case CloseReason::kAborted: return "aborted here";
    case CloseReason::kPeerClosed: return "closed by the peer";
    case CloseReason::kReset: return "reset by the peer";
    case CloseReason::kFailed: return "the socket failed";
    case CloseReason::kTruncated: return "the peer ended too early";
    case CloseReason::kInputLimit: return "too much unconsumed input";
    case CloseReason::kOutputLimit: return "too much unsent output";
    case CloseReason::kLingerTimeout: return "the peer did not end in time";
    case CloseReason::kPipeEnded: return "the other end of its pipe ended";
    case CloseReason::kMemoryBudget: return "the process holds too much memory";
    case CloseReason::kCallbackThrew: return "a callback threw";
    case CloseReason::kLoopStopped: return "the loop stopped";
    case CloseReason::kIdle: return "idle for too long";
    case CloseReason::kReadTooSlow: return "the peer sent too slowly";
    case CloseReason::kWriteTooSlow: return "the peer read too slowly";
    case CloseReason::kNeitherRead: return "neither side read what the other sent";
    case CloseReason::kEvicted: return "idle when the server was full";
    case CloseReason::kDrainDeadline: return "still open at the deadline of the drain";
    case CloseReason::kSendRefused: return "its loop refused what was sent from another thread";
    case CloseReason::kBadMessage: return "the peer sent a message that breaks the protocol";
  }
  return "unknown";
}

Loop& Connection::loop() const { return set_->loop(); }
size_t Connection::queued_bytes() const { return port_->queued_bytes(stream_); }
uint64_t Connection::undelivered_bytes() const { return queued_bytes() + port_->unsent_bytes(stream_); }
Result<SocketAddress> Connection::local_address() const { return port_->local_address(stream_); }
Result<void> Connection::set_option(SocketOption option, int value) {
  return port_->set_option(stream_, option, value);
}

ConnectionHandle Connection::handle() { return {set_->shared_from_this(), slot, generation}; }

bool Connection::send(std::string_view bytes) {
  if (!can_send()) return false;
  return count_sent(bytes.size(), port_->send_copy(stream_, bytes));
}

bool Connection::send(const SharedBytes& bytes) {
  Buffer buffer;
  buffer.append(bytes);
  return send(std::move(buffer));
}

bool Connection::send_when_not_plain(Buffer&& bytes) {
  const size_t size = bytes.size();
  if (!only_recorded(FlightKind::kSent, size)) return send_with_checks(std::move(bytes));
  return count_and_queue(size, std::move(bytes));
}

bool Connection::send_with_checks(Buffer&& bytes) {
  const size_t size = bytes.size();
  // The flight recorder is the only reason for the slow path, but record_by_cycles() has returned false, because the
  // recorder must read the clock for this event.
  if (has_only(kRecorded)) {
    record_event(FlightKind::kSent, size);
    return count_and_queue(size, std::move(bytes));
  }
  if (!can_send()) {
    bytes.clear();  // otherwise on_message's input, sent back by an echo, would be kept and shown again
    return false;
  }
  return count_sent(size, port_->send(stream_, std::move(bytes)));
}

bool Connection::count_sent(size_t size, size_t queued) {
  sent_bytes_ += size;
  bool below = is_below_high_water(queued) && !has(kAboveHighWater);
  if (has(kWatched)) note_sent(size);
  return below;
}

void Connection::send_file(FileRange range) {
  if (!can_send() || range.bytes == 0) return;
  PEAL_ASSERT(range.file != nullptr, "send_file() of {} bytes without a file", range.bytes);
  const uint64_t bytes = range.bytes;
  sent_bytes_ += bytes;
  port_->send_file(stream_, std::move(range));
  if (has(kWatched)) note_sent(bytes);
  const size_t held = port_->held_bytes(stream_);
  if (held > high_water_bytes_) crossed_high_water(held);
}

void Connection::end_over_budget() {
  ++set_->stats().memory_closes;
  end(CloseReason::kMemoryBudget, CloseHow::kReset);
}

void Connection::pause_for_budget() {
  if (!is_open() || stopped_by(kOverBudget)) return;
  if (fast_path_.state == State::kReadingOut) return end(reason_);  // without reading, its end would never be noticed
  stop_reading(kOverBudget, true);
  ++set_->stats().memory_pauses;
  start_or_stop_reading();
}

void Connection::resume_after_budget() {
  if (!stopped_by(kOverBudget)) return;
  stop_reading(kOverBudget, false);
  if (is_open()) start_or_stop_reading();
}

bool Connection::crossed_high_water(size_t queued) {
  if (std::max(queued, port_->held_bytes(stream_)) > set_->options().output_limit_bytes) {
    end(CloseReason::kOutputLimit, CloseHow::kReset);
    return false;
  }
  if (MemoryBudget::above_hard()) {
    end_over_budget();
    return false;
  }
  if (!has(kAboveHighWater)) {
    set_slow_path(kAboveHighWater, true);
    note_high_water(queued);
    port_->report_sent(stream_);
    if (is_piped()) start_or_stop_reading();
  }
  pause_for_output();
  return false;
}

// Pauses receiving because too much output is queued, but only if input has arrived since the last such pause.
// Otherwise a callback that always has more to send would never receive again. If both sides had such a callback, they
// would wait for each other for ever.
void Connection::pause_for_output() {
  if (stopped_by(kOutputFull) || expects_input_ || is_piped() || !set_->pauses_when_full()) return;
  detail::Tracked& own = tracked();
  if (received_bytes_ == own.received_at_output_pause) return;
  own.received_at_output_pause = received_bytes_;
  stop_reading(kOutputFull, true);
  start_or_stop_reading();
}

// Reads from the port if no ReadStop is set, and stops reading otherwise. A connection that is ending or lingering
// reads too, to notice the peer's FIN.
void Connection::start_or_stop_reading() {
  if (is_piped()) return pipe_pair()->start_or_stop_reading();
  port_->receive(stream_, fast_path_.state != State::kClosed && read_stops_ == 0 && !expects_no_input());
}

void Connection::report_drained() {
  if (!is_open()) return;
  drain_wanted_ = true;
  port_->report_sent(stream_);
}

// Must be called in a catch block. Logs the exception and ends the connection.
void Connection::end_after_exception() {
  set_->note_exception();
  record(FlightKind::kThrew);
  end(CloseReason::kCallbackThrew);
}

[[gnu::always_inline]] inline void Connection::deliver(Buffer& bytes) {
  auto& on_message = set_->callbacks().on_message;
  if (!on_message) [[unlikely]]
    return;
  try {
    on_message(*this, bytes);
  } catch (...) {
    return end_after_exception();
  }
  if (bytes.holds_blocks()) [[unlikely]]
    keep(bytes);
}

void Connection::on_received(Buffer& bytes) {
  const size_t size = bytes.size();
  received_bytes_ += size;
  if (!plain() && !only_recorded(FlightKind::kReceived, size)) [[unlikely]]
    return receive_when_not_plain(bytes);
  deliver(bytes);
}

void Connection::receive_when_not_plain(Buffer& bytes) {
  if (!is_open()) return;
  if (has(kWatched)) note_received(bytes.size());
  if (is_piped()) return pipe_pair()->received(*this, bytes);
  if (has(kKeptInput)) {
    input_.append(std::move(bytes));
    bytes = take_kept();
  }
  deliver(bytes);
  note_input_shown();
}

Buffer Connection::take_kept() {
  set_slow_path(kKeptInput, false);
  return std::move(input_);
}

// Keeps the input that on_message has left unconsumed: for the next call of on_message, or for a layer that was
// started. Input that is above a limit is kept before the connection is reset, so that a coroutine can still read it.
void Connection::keep(Buffer& bytes) {
  if (fast_path_.state == State::kHandshaking) return input_.append(std::move(bytes));
  if (!is_open() || bytes.empty()) return;
  if (is_piped()) return pipe_pair()->received(*this, bytes);
  const bool over = !stopped_by(kByUser) && bytes.size() > set_->options().input_limit_bytes;
  input_ = std::move(bytes);
  input_.compact();
  set_slow_path(kKeptInput, true);
  if (MemoryBudget::above_hard()) return end_over_budget();
  // If a coroutine is busy and has not asked for this input, receiving is paused and the connection is not reset. The
  // pause slows the peer down until the coroutine reads.
  if (over && !awaits_input()) return pause();
  if (over) return end(CloseReason::kInputLimit, CloseHow::kReset);
  if (has(kTracked)) watch_input();
}

void Connection::show_kept() {
  if (fast_path_.state == State::kShowing) enter(State::kOpen);
  if (fast_path_.state != State::kOpen) return;
  if (has(kKeptInput)) {
    Buffer bytes = take_kept();
    deliver(bytes);
    note_input_shown();
  }
  if (is_open()) start_or_stop_reading();
}

void Connection::await_input_when_not_plain() {
  if (!is_open() || is_piped()) return;
  set_slow_path(kKeptInput, has_kept());
  if (!has_part()) {
    note_input_shown();
  } else if (tracked_) {
    tracked_->read.since = kNever;
    watch_input();
  }
  // The protocol has read the kept input already. So receiving resumes at once, and on_message is not called with that
  // input again.
  if (stopped_by(kByUser) && is_open()) resume_as(State::kOpen);
}

bool Connection::awaits_input() const {
  auto& awaits = set_->callbacks().awaits_input;
  return !awaits || awaits(*this);
}

void Connection::on_sent(size_t left_bytes) {
  if (fast_path_.state == State::kEnding || fast_path_.state == State::kLingering) {
    if (left_bytes == 0 && expects_no_input()) end(reason_);
    return;
  }
  if (is_piped()) return pipe_pair()->drained(*this, left_bytes);
  if (!is_open() || fast_path_.state == State::kReadingOut) return;
  const bool drained = left_bytes == 0 && drain_wanted_;
  if (drained) drain_wanted_ = false;
  if (!drained && (!has(kAboveHighWater) || left_bytes > high_water_bytes_ / 2)) return;
  set_slow_path(kAboveHighWater, false);
  stop_reading(kOutputFull, false);
  record(FlightKind::kBelowHighWater, left_bytes);
  start_or_stop_reading();
  if (!set_->call(set_->callbacks().on_writable, *this)) return end(CloseReason::kCallbackThrew);
  show_kept();
}

void Connection::on_output_lost(size_t bytes) { set_->note_lost(bytes); }

}  // namespace peal
