// SPDX-License-Identifier: BSD-3-Clause
// How a connection ends: by the peer, here, by an error, and the wait of a graceful end.
//
// Nobody tells when the peer has acknowledged something, so a closing connection asks the kernel from time to time. As
// long as something is owed, the write window judges the peer, as it does while the connection is open; once nothing
// is, all that is waited for is its FIN, no longer than linger_timeout. It is not reset even then: what the peer's
// kernel has acknowledged, the peer may not have read.
#include <algorithm>
#include <cerrno>

#include <peal/loop/loop.h>
#include <peal/net/connection.h>
#include <peal/net/parts/connection_set.h>
#include <peal/net/parts/pipe_pair.h>

namespace peal {

// What error_ has beside the value where that is no errno.
constexpr unsigned kOfTrouble = 0x4000;
constexpr unsigned kOfPort = 0x8000;

// Keeps what the socket or the layer failed with, for on_close, and answers what that makes of the end.
CloseReason Connection::note_error(std::error_code error) {
  const bool of_port = error.category() == port_->errors();
  const unsigned category = error.category() == trouble_category() ? kOfTrouble : of_port ? kOfPort : 0;
  error_ = static_cast<uint16_t>(static_cast<unsigned>(error.value()) | category);
  if (error == Trouble::kTruncated) return CloseReason::kTruncated;
  return error_ == ECONNRESET || error_ == EPIPE ? CloseReason::kReset : CloseReason::kFailed;
}

std::error_code Connection::error() const {
  const int value = error_ % kOfTrouble;
  if (error_ & kOfPort) return {value, port_->errors()};
  if (error_ & kOfTrouble) return {value, trouble_category()};
  return error_ == 0 ? std::error_code{} : errno_code(value);
}

void Connection::on_receive_end(std::error_code error) {
  // Behind an end of ours, or a failure of the output, it is the end that was waited for.
  const bool awaited = error == Trouble::kTruncated && (!is_open() || output_failed_);
  if (error && !awaited) return end(note_error(error));
  peer_ended_ = true;
  record(FlightKind::kPeerEnded);
  if (output_failed_) return end(reason_);
  if (has(kPiped) && is_open()) {
    pipe_pair().peer_ended(*this);
  } else if (is_open() && set_->callbacks().on_peer_end) {
    if (!set_->call(set_->callbacks().on_peer_end, *this)) end(CloseReason::kCallbackThrew);
  } else {
    return end_gracefully(is_open() ? CloseReason::kPeerClosed : reason_);
  }
  if (is_open() && has(kSendEnded)) end_gracefully(CloseReason::kPeerClosed);
}

// While it does not receive: a pipe reads the rest when the other side takes more, one over the memory budget when
// there is room or never; a paused one has linger_timeout to resume, if anything is to be shown.
void Connection::on_gone(std::error_code error) {
  if (!is_open() || has(kPiped)) return;
  if (error && !has(kKeptInput)) return on_receive_end(error);
  if (!paused_) return;
  loop().cancel(timer_);
  timer_ = loop().after(set_->options().linger_timeout, [this, why = error ? error : errno_code(ECONNRESET)] {
    timer_ = {};
    on_receive_end(why);
  });
}

// Both sides are done once the peer's FIN is here, or nobody waits for it, and our queue is out.
void Connection::end_gracefully(CloseReason reason) {
  if (expects_no_input() && port_->queued_bytes(stream_) == 0) return end(reason);
  if (fast_path_.state == State::kClosing) return;
  fast_path_.state = State::kClosing;
  reason_ = reason;
  if (has(kPiped)) pipe_pair().ended(*this, false);
  if (fast_path_.state != State::kClosing) return;
  record(FlightKind::kEndedOutput);
  // Otherwise the fd is closed as soon as all is sent; but a layer's end mark is to find room as what it follows does.
  if (!expects_no_input() || !port_->adopts_open()) port_->shutdown_send(stream_);
  port_->report_sent(stream_);
  follow_flow();
  look_later();
}

// How often a closing connection looks whether the peer has everything.
static Duration look_interval(const ConnectionOptions& options) {
  return std::max<Duration>(options.linger_timeout / 4, std::chrono::milliseconds(1));
}

void Connection::look_later() {
  loop().cancel(timer_);
  timer_ = loop().after(look_interval(set_->options()), [this] {
    timer_ = {};
    linger();
  });
}

void Connection::linger() {
  if (owed_bytes() > 0) {
    watch_output();
    return look_later();
  }
  const Duration looked_for = look_interval(set_->options());
  const Duration left = std::max(set_->options().linger_timeout, looked_for) - looked_for;
  timer_ = loop().after(left, [this] {
    timer_ = {};
    end(CloseReason::kLingerTimeout);
  });
}

void Connection::close() {
  ended_here_ = true;
  if (fast_path_.state == State::kConnecting) return end(CloseReason::kLocal);
  if (fast_path_.state == State::kOpen) end_gracefully(CloseReason::kLocal);
}

void Connection::abort() {
  ended_here_ = true;
  end(CloseReason::kAborted, CloseHow::kReset);
}

void Connection::end(CloseReason reason, CloseHow how) {
  if (fast_path_.state == State::kClosed) return;
  if (has(kPiped)) pipe_pair().count_spliced();
  fast_path_.state = State::kClosed;
  reason_ = reason;
  record(FlightKind::kClosing, static_cast<uint64_t>(reason));
  if (has(kRecorded)) log_abnormal_end();
  set_->note_end(*this, how);
  shakes_hands_ = false;
  if (timer_) loop().cancel(std::exchange(timer_, {}));
  port_->close(stream_, how);
  if (has(kPiped)) pipe_pair().ended(*this, how == CloseHow::kReset || error_ != 0);
}

// What the peer sent before it went is still to be read, if anybody reads; the end follows it. All of that lies in the
// kernel already, so it is bounded.
void Connection::on_send_failed(std::error_code error) {
  if (fast_path_.state == State::kClosed) return;
  if (shakes_hands_) return on_connected(error);
  const CloseReason reason = note_error(error);
  record(FlightKind::kSendFailed, static_cast<uint64_t>(error.value()));
  const bool reads = is_open() && !expects_no_input() && !paused_ && !has(kPiped) && !has(kOverBudget);
  if (reason == CloseReason::kFailed || !reads) return end(reason);
  reason_ = reason;
  output_failed_ = true;
  const bool awaited = has(kAboveHighWater) || drain_wanted_;
  set_slow_path(kAboveHighWater, true);  // so that send() answers false
  follow_flow();
  if (awaited && !set_->call(set_->callbacks().on_writable, *this)) end(CloseReason::kCallbackThrew);
}

}  // namespace peal
