// SPDX-License-Identifier: BSD-3-Clause
// The deadlines of a WebSocket: one timer, armed for whichever comes next.
#include <algorithm>

#include <peal/http/websocket/parts/websocket_shared.h>
#include <peal/http/websocket/websocket.h>
#include <peal/loop/loop.h>

namespace peal {

// It grows only while the peer is alive. Where we do not read, the peer may show that by taking what is queued.
uint64_t WebSocket::peer_progress_bytes() const {
  const uint64_t taken = blocked_ ? carrier_.sent_bytes() - carrier_.queued_bytes() : 0;
  return carrier_.arrived_bytes() + taken;
}

void WebSocket::arm_timer(TimePoint due) {
  const Duration idle = core_->options.idle_timeout;
  if (idle > Duration::zero() && is_open()) due = std::min(due, later(last_message_, idle));
  if (due == kNever) return;
  timer_ = loop().at(due, [this] {
    timer_ = {};
    check_deadlines();
  });
}

void WebSocket::check_deadlines() {
  const WebSocketOptions& options = core_->options;
  if (!carrier_.is_open()) return;
  if (!is_open()) {
    // A peer that reads slowly has not come to the Close frame yet.
    if (carrier_.undelivered_bytes() < last_seen_bytes_) return start_close_deadline();
    if (closed_here_) {
      if (reason_.empty()) reason_ = "the peer did not answer the close in time";
      return carrier_.close();
    }
    // It said that it closes, and has not. A client may reconnect.
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

void WebSocket::note_pong() {
  pinged_ = false;
  last_seen_bytes_ = peer_progress_bytes();
  ping_due_ = later(loop().now(), core_->options.ping_interval);
  loop().cancel(timer_);
  arm_timer(ping_due_);
}

// From here on only the end is waited for.
void WebSocket::start_close_deadline() {
  last_seen_bytes_ = carrier_.undelivered_bytes();
  loop().cancel(timer_);
  arm_timer(later(loop().now(), core_->options.close_timeout));
}

}  // namespace peal
