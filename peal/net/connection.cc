// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/connection.h>

#include <algorithm>
#include <cerrno>

#include <peal/loop/loop.h>
#include <peal/net/parts/connection_set.h>

namespace peal {

std::string_view to_string(CloseReason reason) {
  switch (reason) {
    case CloseReason::kLocal: return "closed here";
    case CloseReason::kAborted: return "aborted here";
    case CloseReason::kPeerClosed: return "closed by the peer";
    case CloseReason::kReset: return "reset by the peer";
    case CloseReason::kFailed: return "the socket failed";
    case CloseReason::kInputLimit: return "too much unconsumed input";
    case CloseReason::kOutputLimit: return "too much unsent output";
    case CloseReason::kLingerTimeout: return "the graceful end made no progress";
    case CloseReason::kCallbackThrew: return "a callback threw";
    case CloseReason::kLoopStopped: return "the loop stopped";
  }
  return "unknown";
}

Loop& Connection::loop() const { return set_->loop(); }
size_t Connection::queued_bytes() const { return engine_->queued_bytes(stream_); }
Result<SocketAddress> Connection::local_address() const { return engine_->local_address(stream_); }
Result<SocketAddress> Connection::peer_address() const { return engine_->peer_address(stream_); }
Result<void> Connection::set_option(SocketOption option, int value) {
  return engine_->set_option(stream_, option, value);
}

ConnectionHandle Connection::handle() { return {set_->shared_from_this(), slot_, generation}; }

bool Connection::send(std::string_view bytes) {
  if (state_ != State::kOpen) return false;
  return sent(bytes.size(), engine_->send_copy(stream_, bytes));
}

bool Connection::send(const SharedBytes& bytes) {
  Buffer buffer;
  buffer.append(bytes);
  return send(std::move(buffer));
}

bool Connection::crossed_high_water(size_t queued) {
  if (queued > set_->options().output_limit_bytes) {
    end(CloseReason::kOutputLimit, CloseHow::kReset);
    return false;
  }
  if (!above_high_water_) {
    above_high_water_ = true;
    engine_->report_sent(stream_);
    follow_flow();
  }
  return false;
}

// Receiving goes on unless the user paused it, kept input is to be shown first (the peer's end must not overtake it) or
// unsent output piles up; a closing connection reads to find the end.
void Connection::follow_flow() {
  bool wanted = state_ == State::kClosing;
  if (state_ == State::kOpen) wanted = !paused_ && !timer_ && (!above_high_water_ || output_failed_);
  engine_->receive(stream_, wanted && !peer_ended_);
}

void Connection::pause() {
  if (paused_ || state_ != State::kOpen) return;
  paused_ = true;
  follow_flow();
}

void Connection::resume() {
  if (!paused_ || state_ != State::kOpen) return;
  paused_ = false;
  // From the loop, not from here: the caller may be inside on_message.
  if (input_.holds_blocks() && !timer_) timer_ = loop().after(Duration::zero(), [this] { show_again(); });
  follow_flow();
}

// Inside a handler.
void Connection::threw() {
  set_->note_exception();
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
  if (timer_) loop().cancel(std::exchange(timer_, {}));
  if (state_ != State::kOpen || paused_) return;
  if (input_.holds_blocks()) {
    Buffer bytes = std::move(input_);
    deliver(bytes);
  }
  if (state_ == State::kOpen) follow_flow();
}

void Connection::open() {
  state_ = State::kOpen;
  was_open_ = true;
  set_->on_connection_opened();
  engine_->receive(stream_, true);
  if (!set_->call(set_->callbacks().on_open, *this)) end(CloseReason::kCallbackThrew);
}

void Connection::on_connected(std::error_code error) {
  if (error) {
    error_ = error.value();
    return end(CloseReason::kFailed);
  }
  if (set_->on_connect_done) set_->call(set_->on_connect_done, handle(), error);
  if (state_ == State::kConnecting) open();
}

void Connection::on_received(Buffer& bytes) {
  received_bytes_ += bytes.size();
  if (state_ != State::kOpen) [[unlikely]]
    return;
  if (input_.holds_blocks()) [[unlikely]]
    return deliver_with_kept(bytes);
  deliver(bytes);
}

// Little is copied into the room behind what is kept, or a peer that drips would pin a block with every byte.
void Connection::deliver_with_kept(Buffer& bytes) {
  constexpr size_t kLittle = kLargeBlockBytes / 4;
  if (bytes.is_contiguous() && bytes.size() <= kLittle) {
    input_.append(bytes.front());
  } else {
    input_.append(std::move(bytes));
  }
  Buffer all = std::move(input_);
  deliver(all);
}

// What the callback left is kept for the next time.
void Connection::keep(Buffer& bytes) {
  if (state_ != State::kOpen || bytes.empty()) return;
  if (bytes.size() > set_->options().input_limit_bytes) return end(CloseReason::kInputLimit, CloseHow::kReset);
  input_ = std::move(bytes);
  input_.compact();
}

void Connection::on_receive_end(std::error_code error) {
  if (error) {
    error_ = error.value();
    bool reset = error_ == ECONNRESET || error_ == EPIPE;
    return end(reset ? CloseReason::kReset : CloseReason::kFailed);
  }
  peer_ended_ = true;
  if (output_failed_) return end(reason_);
  if (state_ == State::kOpen && set_->callbacks().on_peer_end) {
    if (!set_->call(set_->callbacks().on_peer_end, *this)) end(CloseReason::kCallbackThrew);
    return;
  }
  end_gracefully(state_ == State::kOpen ? CloseReason::kPeerClosed : reason_);
}

// Both sides are done once the peer's FIN is here and our queue is out.
void Connection::end_gracefully(CloseReason reason) {
  if (peer_ended_ && engine_->queued_bytes(stream_) == 0) return end(reason);
  if (state_ == State::kClosing) return;
  state_ = State::kClosing;
  reason_ = reason;
  engine_->shutdown_send(stream_);
  engine_->report_sent(stream_);
  follow_flow();
  linger();
}

void Connection::linger() {
  lingering_bytes_ = static_cast<uint32_t>(std::min<size_t>(queued_bytes(), UINT32_MAX));
  loop().cancel(timer_);
  timer_ = loop().after(set_->options().linger_timeout, [this] {
    timer_ = {};
    if (queued_bytes() < lingering_bytes_) return linger();
    end(CloseReason::kLingerTimeout, CloseHow::kReset);
  });
}

void Connection::close() {
  ended_here_ = true;
  if (state_ == State::kConnecting) return end(CloseReason::kLocal);
  if (state_ == State::kOpen) end_gracefully(CloseReason::kLocal);
}

void Connection::abort() {
  ended_here_ = true;
  end(CloseReason::kAborted, CloseHow::kReset);
}

void Connection::end(CloseReason reason, CloseHow how) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  reason_ = reason;
  if (timer_) loop().cancel(std::exchange(timer_, {}));
  engine_->close(stream_, how);
}

void Connection::on_send_failed(std::error_code error) {
  if (state_ == State::kClosed) return;
  error_ = error.value();
  bool reset = error_ == EPIPE || error_ == ECONNRESET;
  reason_ = reset ? CloseReason::kReset : CloseReason::kFailed;
  // What the peer sent before it went is still to be read, if anybody reads; the end follows it.
  if (!reset || peer_ended_ || paused_) return end(reason_);
  output_failed_ = true;
  above_high_water_ = true;  // so that send() answers false
  follow_flow();
}

void Connection::on_sent(size_t left_bytes) {
  if (state_ == State::kClosing) {
    if (left_bytes == 0 && peer_ended_) end(reason_);
    return;
  }
  if (state_ != State::kOpen || !above_high_water_ || output_failed_) return;
  if (left_bytes > high_water_bytes_ / 2) return;
  above_high_water_ = false;
  follow_flow();
  if (!set_->call(set_->callbacks().on_writable, *this)) return end(CloseReason::kCallbackThrew);
  show_again();
}

void Connection::on_closed() {
  // Without end() it is the engine that shuts, and the loop with it.
  if (state_ != State::kClosed) loop().cancel(std::exchange(timer_, {}));
  state_ = State::kClosed;
  set_->release(*this);
}

void Connection::on_detached(LooseStream) { PEAL_ASSERT(false, "connection {} was never detached", slot_); }

// On the loop the call acts at once; from elsewhere it travels there with what it carries.
template <class Act>
void ConnectionHandle::act(Act&& action) const {
  if (set_ == nullptr) return;
  if (set_->mailbox().here() != nullptr) {
    if (Connection* connection = set_->find(slot_, generation_)) action(*connection);
    return;
  }
  bool posted = set_->mailbox().post(
      [set = set_, slot = slot_, generation = generation_, action = std::forward<Act>(action)]() mutable {
        if (Connection* connection = set->find(slot, generation)) action(*connection);
      });
  if (!posted) set_->count_lost();
}

void ConnectionHandle::send(std::string_view bytes) const { send(Buffer(bytes)); }
void ConnectionHandle::send(Buffer&& bytes) const {
  act([bytes = std::move(bytes)](Connection& connection) mutable { connection.send(std::move(bytes)); });
}
void ConnectionHandle::send(const SharedBytes& bytes) const {
  act([bytes](Connection& connection) { connection.send(bytes); });
}
void ConnectionHandle::close() const {
  act([](Connection& connection) { connection.close(); });
}
void ConnectionHandle::abort() const {
  act([](Connection& connection) { connection.abort(); });
}
void ConnectionHandle::run(std::move_only_function<void(Connection&)> task) const {
  act([set = set_.get(), task = std::move(task)](Connection& connection) mutable { set->run(task, connection); });
}

}  // namespace peal
