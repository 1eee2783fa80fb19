// SPDX-License-Identifier: BSD-3-Clause
// The life of a connection: every change of its state (connection_life.h) is in this file.
//
// How a graceful end waits. No event reports that the peer has acknowledged bytes, so an ending connection asks the
// kernel at intervals. While bytes are unacknowledged, the write window applies, as for an open connection. After that
// only the peer's FIN is awaited, for at most linger_timeout. Even then the connection is closed without a reset: the
// peer's kernel has acknowledged the bytes, but the peer may not have read them.
#include <algorithm>
#include <cerrno>

#include <peal/loop/loop.h>
#include <peal/net/connection.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/pipe_pair.h>
#include <peal/net/parts/tracked.h>

namespace peal {

void Connection::enter(State next) {
  PEAL_ASSERT(may_follow(fast_path_.state, next), "connection {} must not change from {} to {}", slot,
              to_string(fast_path_.state), to_string(next));
  if (timer_) loop().cancel(std::exchange(timer_, {}));
  fast_path_.state = next;
  if (!is_open() && !is_beginning()) read_stops_ = 0;  // so that a later resume() does nothing
  stop_reading(kShowsFirst, next == State::kShowing);
  if (const Duration time = time_in(next); time >= Duration::zero()) {
    timer_ = loop().after(time, [this] { time_up(); });
  }
}

// Returns the interval at which an ending connection checks whether the peer has acknowledged everything.
static Duration acknowledgement_check_interval(const ConnectionOptions& options) {
  return std::max<Duration>(options.linger_timeout / 4, std::chrono::milliseconds(1));
}

// Returns how long a connection may stay in `state`. A negative duration means that the state has no timer.
Duration Connection::time_in(State state) const {
  const ConnectionOptions& options = set_->options();
  switch (state) {
    case State::kHandshaking: return options.handshake_timeout;
    case State::kShowing: return Duration::zero();
    case State::kOrphaned: return options.linger_timeout;
    case State::kEnding: return acknowledgement_check_interval(options);
    case State::kLingering:
      return std::max(options.linger_timeout - acknowledgement_check_interval(options), Duration::zero());
    default: return Duration(-1);
  }
}

void Connection::time_up() {
  timer_ = {};
  switch (fast_path_.state) {
    case State::kHandshaking: return on_connected(errno_code(ETIMEDOUT));
    case State::kShowing: return show_kept();
    case State::kOrphaned: return on_receive_end(error());
    case State::kEnding: return linger_if_acknowledged();
    case State::kLingering: return end(CloseReason::kLingerTimeout);
    default: PEAL_ASSERT(false, "connection {} has a timer while {}", slot, to_string(fast_path_.state));
  }
}

// Begins the layer's handshake of an accepted or connecting stream, if `handshakes` is true.
void Connection::begin(bool handshakes) {
  if (!handshakes) return;
  enter(State::kHandshaking);
  remember_peer();
}

// Called when the port has connected, and when a handshake has succeeded or failed.
void Connection::on_connected(std::error_code error) {
  const bool shook_hands = fast_path_.state == State::kHandshaking;
  if (error) {
    if (shook_hands) ++set_->stats().handshakes_failed;
    return end(note_error(error));
  }
  if (shook_hands && awaits_place_) enter(State::kConnecting);
  if (set_->on_connect_done && !was_open_) set_->call(set_->on_connect_done, handle(), error);
  if (fast_path_.state != State::kClosed && !awaits_place_) open();
}

// Opens the connection for the first time, or again when the layer of start_layer() is ready.
void Connection::open() {
  enter(State::kOpen);
  const bool anew = was_open_;
  was_open_ = true;
  if (!anew) {
    opened_at_ = age_stamp(loop().now());
    ++set_->stats().opened;
  }
  if (set_->watches()) begin_watching();
  if (expects_input_) watch_input();
  if (has(kAboveHighWater) || drain_wanted_) port_->report_sent(stream_);
  start_or_stop_reading();
  auto& callback = anew ? set_->callbacks().on_secured : set_->callbacks().on_open;
  if (!set_->call(callback, *this)) end(CloseReason::kCallbackThrew);
  if ((set_->asks_to_end() || has(kDrains)) && fast_path_.state != State::kHandshaking) set_->drain_one(*this);
}

bool Connection::start_layer(std::string_view host, Buffer&& unread) {
  const ConnectionOptions& options = set_->options();
  PEAL_ASSERT(options.layer != nullptr && options.layer_later, "connection {} has no layer that it could start", slot);
  PEAL_ASSERT(!is_piped(), "connection {} starts its layer while it is piped", slot);
  if (!can_send() || port_ == &set_->layer_port()) return false;
  unread.append(take_kept());
  input_ = std::move(unread);
  if (!host.empty()) set_->set_layer_host(slot, host);
  record(FlightKind::kStartsLayer);
  if (tracked_) tracked_->read.since = tracked_->write.since = kNever;
  peer_ended_ = false;
  stop_reading(kByUser, false);
  stop_reading(kOutputFull, false);
  begin(true);
  port_->detach(stream_);
  return true;
}

// Called when the port has given up its stream for start_layer(). Passes the stream to the layer. Input that came in
// the clear and was not interpreted becomes the layer's first input.
void Connection::on_detached(LooseStream stream) {
  if (fast_path_.state == State::kClosed || !set_->mailbox().open()) return on_closed();
  input_.append(std::move(stream.early()));
  stream.early() = std::move(input_);
  port_ = &set_->layer_port();
  stream_ = port_->adopt_from(std::move(stream), set_->take_layer_host(slot), *this);
  if (port_->adopts_open()) on_connected({});
}

void Connection::pause() {
  if (!is_open() || stopped_by(kByUser)) return;
  if (fast_path_.state == State::kReadingOut) return end(reason_);  // without reading, its end would never be noticed
  stop_reading(kByUser, true);
  record(FlightKind::kPaused);
  if (!is_piped()) enter(State::kPaused);
  start_or_stop_reading();
}

// Resumes receiving. Kept input is passed to on_message in the loop's next turn and not here, since the caller may be
// inside on_message.
void Connection::resume() {
  if (stopped_by(kByUser)) resume_as(has(kKeptInput) ? State::kShowing : State::kOpen);
}

void Connection::resume_as(State next) {
  stop_reading(kByUser, false);
  record(FlightKind::kResumed);
  if (!is_piped()) enter(next);
  start_or_stop_reading();
}

void Connection::enter_pipe(detail::PipePair& pair) {
  enter(State::kPiped);
  stop_reading(kByUser, false);
  stop_reading(kOutputFull, false);
  tracked().pipe_pair = &pair;
}

// Called when the port finds, while the connection does not receive, that the connection to the peer is lost. The first
// case that applies decides:
// - A piped connection that the user has not paused stays open. Its remaining input is read when the other connection
//   accepts more.
// - With an error and without kept input, the connection ends at once.
// - A connection that does not receive because of the memory budget ends, which frees its memory.
// - A paused connection becomes kOrphaned: the user has linger_timeout to call resume().
void Connection::on_gone(std::error_code error) {
  if (!is_open() || (is_piped() && !stopped_by(kByUser))) return;
  if (error && !has_kept()) return on_receive_end(error);
  if (fast_path_.state != State::kPaused && !stopped_by(kOverBudget)) return;
  const CloseReason reason = note_error(error ? error : errno_code(ECONNRESET));
  if (stopped_by(kOverBudget)) return end(reason);
  enter(State::kOrphaned);
}

// Called when sending has failed. If the peer has reset or closed the connection and the connection is receiving, the
// input that the peer sent before is read first, then the connection ends. The size of that input is bounded, because
// it is in the kernel already. In all other cases the connection ends at once.
void Connection::on_send_failed(std::error_code error) {
  if (fast_path_.state == State::kClosed) return;
  if (fast_path_.state == State::kHandshaking) return on_connected(error);
  // In kLingering the peer has acknowledged everything except perhaps a layer's end mark, so the failure is no error.
  if (fast_path_.state == State::kLingering) return end(reason_);
  const CloseReason reason = note_error(error);
  record(FlightKind::kSendFailed, static_cast<uint64_t>(error.value()));
  if (fast_path_.state == State::kShowing) show_kept();
  const bool reads = fast_path_.state == State::kOpen && !expects_no_input() && !stopped_by(kOverBudget);
  if (reason == CloseReason::kFailed || !reads) return end(reason);
  reason_ = reason;
  enter(State::kReadingOut);
  stop_reading(kOutputFull, false);
  const bool awaited = has(kAboveHighWater) || drain_wanted_;
  set_slow_path(kAboveHighWater, true);  // makes send() return false
  start_or_stop_reading();
  if (awaited && !set_->call(set_->callbacks().on_writable, *this)) end(CloseReason::kCallbackThrew);
}

void Connection::on_receive_end(std::error_code error) {
  const bool reads_out = fast_path_.state == State::kReadingOut;
  // If this side has ended already or sending has failed, a missing end mark of the layer counts as a proper end.
  const bool awaited = error == Trouble::kTruncated && (!is_open() || reads_out);
  if (error && !awaited) return end(note_error(error));
  peer_ended_ = true;
  record(FlightKind::kPeerEnded);
  if (reads_out) return end(reason_);
  if (is_piped()) {
    pipe_pair()->peer_ended(*this);
  } else if (is_open() && set_->callbacks().on_peer_end) {
    if (!set_->call(set_->callbacks().on_peer_end, *this)) end(CloseReason::kCallbackThrew);
  } else if (is_open() && has_kept()) {
    return refuse(Trouble::kTruncated);
  } else {
    return end_gracefully(is_open() ? CloseReason::kPeerClosed : reason_);
  }
  if (is_open() && has(kSendEnded)) end_gracefully(CloseReason::kPeerClosed);
}

void Connection::shutdown_send() {
  if (!is_open() || has(kSendEnded)) return;
  set_slow_path(kSendEnded, true);
  if (peer_ended_) return end_gracefully(CloseReason::kPeerClosed);
  port_->shutdown_send(stream_);
}

void Connection::close() {
  ended_here_ = true;
  if (is_open()) return end_gracefully(CloseReason::kLocal);
  if (is_beginning()) end(CloseReason::kLocal);
}

void Connection::refuse(Trouble why) {
  mark_refused(why);
  if (is_open()) return end_gracefully(CloseReason::kBadMessage);
  if (is_beginning()) end(CloseReason::kBadMessage);
}

void Connection::abort() {
  ended_here_ = true;
  end(CloseReason::kAborted, CloseHow::kReset);
}

// Ends the connection gracefully. A connection without a layer ends at once if its queue is empty and the peer's FIN
// has come or is not awaited.
void Connection::end_gracefully(CloseReason reason) {
  const bool is_over = expects_no_input() && port_->queued_bytes(stream_) == 0;
  if (is_over && (port_->adopts_open() || !is_open())) return end(reason);
  if (!is_open()) return;
  // Kept input is dropped, because on_message is not called any more. It stays if the protocol reads outside of
  // on_message, which it says by awaits_input.
  if (!set_->callbacks().awaits_input) take_kept();
  const bool was_piped = is_piped();
  // A connection with a layer lingers even if its queue is empty: the layer may still need room in the port below it,
  // for the end mark.
  enter(is_over ? State::kLingering : State::kEnding);
  reason_ = reason;
  if (was_piped) pipe_pair()->ended(*this, false);
  if (fast_path_.state == State::kClosed) return;
  if (!is_over) record(FlightKind::kEndedOutput);
  // If the peer's FIN is not awaited, a stream without a layer needs no shutdown_send(): its fd is closed as soon as
  // all output is sent. A layer always needs the call, so that its end mark follows the output.
  if (!expects_no_input() || !port_->adopts_open()) port_->shutdown_send(stream_);
  port_->report_sent(stream_);
  start_or_stop_reading();
}

void Connection::linger_if_acknowledged() {
  if (owed_bytes() == 0) return enter(State::kLingering);
  watch_output();
  timer_ = loop().after(time_in(State::kEnding), [this] { time_up(); });
}

void Connection::end(CloseReason reason, CloseHow how) {
  if (fast_path_.state == State::kClosed) return;
  if (pipe_pair() != nullptr) pipe_pair()->count_spliced();
  enter(State::kClosed);
  reason_ = reason;
  record(FlightKind::kClosing, static_cast<uint64_t>(shown_reason()));
  if (has(kRecorded)) log_abnormal_end();
  set_->note_end(*this, how);
  port_->close(stream_, how);
  if (pipe_pair() != nullptr) pipe_pair()->ended(*this, how == CloseHow::kReset || error_ != 0);
}

// Called by the port when it has closed the stream of this connection. After this call, nothing refers to the stream
// any more.
void Connection::on_closed() {
  // If end() was not called, the engine is shutting down, because the loop ends.
  if (fast_path_.state != State::kClosed) {
    reason_ = CloseReason::kLoopStopped;
    enter(State::kClosed);
  }
  record(FlightKind::kClosed);
  detail::PipePair* joined = pipe_pair();
  set_->release(*this);
  if (joined != nullptr) joined->side_released(*this);
}

}  // namespace peal
