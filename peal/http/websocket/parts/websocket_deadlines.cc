// SPDX-License-Identifier: BSD-3-Clause
// The deadlines of a WebSocket: silence of the peer, idle time and the closing handshake. One timer runs until the next
// of them.
#include <algorithm>

#include <peal/http/websocket/parts/websocket_shared.h>
#include <peal/http/websocket/websocket.h>
#include <peal/loop/loop.h>

namespace peal {

// Returns a number that grows only while the peer is alive: how many bytes have arrived. While output is above the
// high-water mark, this side may not read, so the number of bytes that were sent to the peer is added.
uint64_t WebSocket::peer_progress_bytes() const {
  const uint64_t taken = blocked_ ? carrier_.sent_bytes() - carrier_.queued_bytes() : 0;
  return carrier_.arrived_bytes() + taken;
}

// Starts the timer for `due`, or for the end of idle_timeout if that is earlier.
void WebSocket::arm_timer(TimePoint due) {
  const Duration idle = core_->options.idle_timeout;
  if (idle > Duration::zero() && is_open()) due = std::min(due, later(last_message_, idle));
  if (due == kNever) return;
  timer_ = loop().at(due, [this] {
    timer_ = {};
    check_deadlines();
  });
}

// Called by the timer. Ends the socket if a deadline has passed, otherwise starts the timer again.
void WebSocket::check_deadlines() {
  const WebSocketOptions& options = core_->options;
  if (!carrier_.is_open()) return;
  if (!is_open()) {
    // The peer has acknowledged output since the last check. It reads slowly and may not have reached the Close frame,
    // so it gets close_timeout again.
    if (carrier_.undelivered_bytes() < last_seen_bytes_) return start_close_deadline();
    if (closed_here_) {
      if (reason_.empty()) reason_ = "the peer did not answer the close in time";
      return carrier_.close();
    }
    // The server sent a Close frame and did not close the connection. Setting cut_off_ lets the client reconnect.
    if (reason_.empty()) reason_ = "the peer sent a Close frame and did not close the connection";
    cut_off_ = true;
    return carrier_.abort();
  }
  const TimePoint now = loop().now();
  if (options.idle_timeout > Duration::zero() && now >= later(last_message_, options.idle_timeout)) {
    return close(WebSocketCode::kGoingAway, "idle for too long");
  }
  if (now >= ping_due_ && ping_if_silent(now)) {
    reason_ = "the peer did not answer a ping in time";
    cut_off_ = true;
    return carrier_.abort();
  }
  arm_timer(ping_due_);
}

// Sends a ping if the peer has shown no progress since the last check and the socket is not paused. If a ping was
// already sent at the last check, sends none and returns true: the peer did not answer within pong_timeout.
bool WebSocket::ping_if_silent(TimePoint now) {
  const WebSocketOptions& options = core_->options;
  if (paused_ || peer_progress_bytes() != last_seen_bytes_) {
    pinged_ = false;
    ping_due_ = later(now, options.ping_interval);
  } else if (pinged_) {
    return true;
  } else {
    ping();
    pinged_ = true;
    ping_due_ = later(now, options.pong_timeout);
  }
  last_seen_bytes_ = peer_progress_bytes();
  return false;
}

// Called when the pong arrives that answers an automatic ping. Starts ping_interval anew.
void WebSocket::note_pong() {
  pinged_ = false;
  last_seen_bytes_ = peer_progress_bytes();
  ping_due_ = later(loop().now(), core_->options.ping_interval);
  loop().cancel(timer_);
  arm_timer(ping_due_);
}

// Starts close_timeout. Within this time the peer has to answer the Close frame or close the connection. No more pings
// are sent.
void WebSocket::start_close_deadline() {
  last_seen_bytes_ = carrier_.undelivered_bytes();
  loop().cancel(timer_);
  arm_timer(later(loop().now(), core_->options.close_timeout));
}

}  // namespace peal
