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
    case CloseReason::kTruncated: return "the peer ended without saying so";
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
    case CloseReason::kEvicted: return "idle when the server was full";
    case CloseReason::kDrainDeadline: return "not done when the drain was to be";
    case CloseReason::kSendRefused: return "its loop refused what was sent from another thread";
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
  if (!is_open() || has(kSendEnded)) return false;
  return sent_slow_path(bytes.size(), port_->send_copy(stream_, bytes));
}

bool Connection::send(const SharedBytes& bytes) {
  Buffer buffer;
  buffer.append(bytes);
  return send(std::move(buffer));
}

bool Connection::send_slow_path(Buffer&& bytes) {
  const size_t size = bytes.size();
  if (!only_recorded(FlightKind::kSent, size)) return send_watched(std::move(bytes));
  return queue(size, std::move(bytes));
}

bool Connection::send_watched(Buffer&& bytes) {
  const size_t size = bytes.size();
  if (has_only(kRecorded)) {  // where the recorder asks for the time
    record_event(FlightKind::kSent, size);
    return queue(size, std::move(bytes));
  }
  if (!is_open() || has(kSendEnded) || output_failed_) {
    bytes.clear();  // an echo's input: it would be kept, and shown again
    return false;
  }
  return sent_slow_path(size, port_->send(stream_, std::move(bytes)));
}

bool Connection::sent_slow_path(size_t size, size_t queued) {
  sent_bytes_ += size;
  bool below = is_below_high_water(queued) && !has(kAboveHighWater);
  if (has(kWatched)) note_sent(size);
  return below;
}

void Connection::send_file(FileRange range) {
  if (!is_open() || has(kSendEnded) || range.bytes == 0) return;
  PEAL_ASSERT(range.file != nullptr, "{} bytes of no file are sent", range.bytes);
  const uint64_t bytes = range.bytes;
  sent_bytes_ += bytes;
  port_->send_file(stream_, std::move(range));
  if (has(kWatched)) note_sent(bytes);
  const size_t held = port_->held_bytes(stream_);
  if (held > high_water_bytes_) crossed_high_water(held);
}

void Connection::shutdown_send() {
  if (!is_open() || has(kSendEnded)) return;
  set_slow_path(kSendEnded, true);
  if (peer_ended_) return end_gracefully(CloseReason::kPeerClosed);
  port_->shutdown_send(stream_);
}

bool Connection::end_over_budget() {
  ++set_->stats().memory_closes;
  end(CloseReason::kMemoryBudget, CloseHow::kReset);
  return false;
}

bool Connection::crossed_high_water(size_t queued) {
  if (std::max(queued, port_->held_bytes(stream_)) > set_->options().output_limit_bytes) {
    end(CloseReason::kOutputLimit, CloseHow::kReset);
    return false;
  }
  if (MemoryBudget::above_hard()) return end_over_budget();
  if (!has(kAboveHighWater)) {
    set_slow_path(kAboveHighWater, true);
    note_high_water(queued);
    port_->report_sent(stream_);
    if (has(kPiped)) follow_flow();
  }
  pause_for_output();
  return false;
}

// Only output that followed new input pauses receiving. Otherwise a callback that always has more to send would never
// hear its peer again, and two such sides would wait for each other.
void Connection::pause_for_output() {
  if (output_pauses_ || expects_input_ || has(kPiped) || !set_->pauses_when_full()) return;
  detail::Tracked& own = tracked();
  if (received_bytes_ == own.received_at_output_pause) return;
  own.received_at_output_pause = received_bytes_;
  output_pauses_ = true;
  follow_flow();
}

// Receiving goes on unless the user paused it, kept input is to be shown first (the peer's end must not overtake it) or
// output that followed input piles up; a closing connection reads to find the end.
void Connection::follow_flow() {
  if (has(kPiped) && is_open()) return pipe_pair().follow();
  const bool reads = !paused_ && !timer_ && !has(kOverBudget) && (!output_pauses_ || output_failed_);
  port_->receive(stream_, (is_open() ? reads : fast_path_.state == State::kClosing) && !expects_no_input());
}

void Connection::report_drained() {
  if (!is_open()) return;
  drain_wanted_ = true;
  port_->report_sent(stream_);
}

void Connection::pause() {
  if (paused_ || fast_path_.state != State::kOpen) return;
  if (output_failed_) return end(reason_);  // nothing would ever tell of its end
  paused_ = true;
  record(FlightKind::kPaused);
  follow_flow();
}

void Connection::resume() {
  if (!paused_ || fast_path_.state != State::kOpen) return;
  paused_ = false;
  record(FlightKind::kResumed);
  if (timer_) loop().cancel(std::exchange(timer_, {}));
  // From the loop, not from here: the caller may be inside on_message.
  if (has(kKeptInput)) timer_ = loop().after(Duration::zero(), [this] { show_again(); });
  follow_flow();
}

// Inside a handler.
void Connection::threw() {
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
    return threw();
  }
  if (bytes.holds_blocks()) [[unlikely]]
    keep(bytes);
}

void Connection::show_again() {
  if (fast_path_.state != State::kOpen) return;  // the timer is the end's, or the handshake's
  if (timer_) loop().cancel(std::exchange(timer_, {}));
  if (paused_) return;
  if (has(kKeptInput)) {
    Buffer bytes = take_kept();
    deliver(bytes);
    settle_input();
  }
  if (fast_path_.state == State::kOpen) follow_flow();
}

// Until on_connected tells how it went.
void Connection::begin_handshake() {
  shakes_hands_ = true;
  remember_peer();
  timer_ = loop().after(set_->options().handshake_timeout, [this] { on_connected(errno_code(ETIMEDOUT)); });
}

// For the first time, or anew over the layer that was started.
void Connection::open() {
  fast_path_.state = State::kOpen;
  const bool anew = was_open_;
  was_open_ = true;
  if (!anew) {
    opened_at_ = age_stamp(loop().now());
    ++set_->stats().opened;
  }
  if (set_->watches()) begin_watching();
  if (expects_input_) watch_input();
  if (has(kAboveHighWater) || drain_wanted_) port_->report_sent(stream_);
  follow_flow();
  auto& told = anew ? set_->callbacks().on_secured : set_->callbacks().on_open;
  if (!set_->call(told, *this)) end(CloseReason::kCallbackThrew);
  if ((set_->asks_to_end() || has(kDrains)) && !shakes_hands_) set_->drain_one(*this);
}

bool Connection::start_layer(std::string_view host, Buffer&& unread) {
  const ConnectionOptions& options = set_->options();
  PEAL_ASSERT(options.layer != nullptr && options.layer_later, "connection {} has no layer that it could start", slot);
  PEAL_ASSERT(!has(kPiped), "connection {} starts its layer while it is piped", slot);
  if (!can_send() || port_ == &set_->layer_port()) return false;
  unread.append(take_kept());
  input_ = std::move(unread);
  if (!host.empty()) set_->set_layer_host(slot, host);
  record(FlightKind::kStartsLayer);
  if (tracked_) tracked_->read.since = tracked_->write.since = kNever;
  paused_ = peer_ended_ = false;
  loop().cancel(timer_);
  fast_path_.state = State::kConnecting;
  begin_handshake();
  port_->detach(stream_);
  return true;
}

// What came in the clear and nobody has read is the first that the layer is given.
void Connection::on_detached(LooseStream stream) {
  if (fast_path_.state == State::kClosed || !set_->mailbox().open()) return on_closed();
  input_.append(std::move(stream.early()));
  stream.early() = std::move(input_);
  port_ = &set_->layer_port();
  stream_ = port_->adopt_from(std::move(stream), set_->take_layer_host(slot), *this);
  if (port_->adopts_open()) on_connected({});
}

void Connection::on_connected(std::error_code error) {
  const bool adopted = shakes_hands_;
  shakes_hands_ = false;
  if (adopted) loop().cancel(std::exchange(timer_, {}));
  if (error) {
    if (adopted) ++set_->stats().handshakes_failed;
    return end(note_error(error));
  }
  if (set_->on_connect_done && !was_open_) set_->call(set_->on_connect_done, handle(), error);
  if (fast_path_.state == State::kConnecting && !awaits_seat_) open();
}

void Connection::on_received(Buffer& bytes) {
  const size_t size = bytes.size();
  received_bytes_ += size;
  if (!plain() && !only_recorded(FlightKind::kReceived, size)) [[unlikely]]
    return received_slow_path(bytes);
  deliver(bytes);
}

void Connection::received_slow_path(Buffer& bytes) {
  if (!is_open()) return;
  if (has(kWatched)) note_received(bytes.size());
  if (has(kPiped)) return pipe_pair().received(*this, bytes);
  if (has(kKeptInput)) {
    input_.append(std::move(bytes));
    bytes = take_kept();
  }
  deliver(bytes);
  settle_input();
}

Buffer Connection::take_kept() {
  set_slow_path(kKeptInput, false);
  return std::move(input_);
}

// What the callback left is kept for the next time, or for the layer that it has started.
void Connection::keep(Buffer& bytes) {
  if (shakes_hands_) return input_.append(std::move(bytes));
  if (fast_path_.state != State::kOpen || bytes.empty()) return;
  if (has(kPiped)) return pipe_pair().received(*this, bytes);
  if (MemoryBudget::above_hard()) return void(end_over_budget());
  const bool over = !paused_ && bytes.size() > set_->options().input_limit_bytes;
  if (over) return end(CloseReason::kInputLimit, CloseHow::kReset);
  input_ = std::move(bytes);
  input_.compact();
  set_slow_path(kKeptInput, true);
  if (has(kTracked)) watch_input();
}

void Connection::on_sent(size_t left_bytes) {
  if (fast_path_.state == State::kClosing) {
    if (left_bytes == 0 && expects_no_input()) end(reason_);
    return;
  }
  if (has(kPiped) && is_open()) return pipe_pair().drained(*this, left_bytes);
  if (!is_open() || output_failed_) return;
  const bool drained = left_bytes == 0 && drain_wanted_;
  if (drained) drain_wanted_ = false;
  if (!drained && (!has(kAboveHighWater) || left_bytes > high_water_bytes_ / 2)) return;
  set_slow_path(kAboveHighWater, false);
  output_pauses_ = false;
  record(FlightKind::kBelowHighWater, left_bytes);
  follow_flow();
  if (!set_->call(set_->callbacks().on_writable, *this)) return end(CloseReason::kCallbackThrew);
  show_again();
}

void Connection::on_output_lost(size_t bytes) { set_->note_lost(bytes); }

void Connection::on_closed() {
  // Without end() it is the engine that shuts, and the loop with it.
  if (fast_path_.state != State::kClosed) {
    loop().cancel(std::exchange(timer_, {}));
    reason_ = CloseReason::kLoopStopped;
  }
  fast_path_.state = State::kClosed;
  record(FlightKind::kClosed);
  detail::PipePair* joined = has(kPiped) ? &pipe_pair() : nullptr;
  set_->release(*this);
  if (joined != nullptr) joined->gone(*this);
}

}  // namespace peal
