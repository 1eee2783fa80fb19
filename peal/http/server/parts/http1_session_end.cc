// SPDX-License-Identifier: BSD-3-Clause
// The part of Http1Session for its end: by the client, by a timeout, by a drain, or by an upgrade.
#include <peal/base/log.h>
#include <peal/http/server/parts/http1_session.h>
#include <peal/loop/loop.h>

namespace peal::detail {

void Http1Session::peer_ended() {
  if (upgrade_handler_) return upgrade_handler_->on_peer_end(*connection_);
  peer_ended_ = true;
  if (carrier_ == nullptr || !carrier_->head_read()) return end();
  if (!carrier_->request_read()) refuse(400);
}

void Http1Session::drain() {
  if (upgrade_handler_) return upgrade_handler_->on_drain(*connection_);
  draining_ = true;
  if (carrier_ != nullptr) HttpShard::report_drain(*carrier_);
  // The connection stays open while an exchange is in progress or a pipelined request already waits. The answer to that
  // request announces that it is the last one (RFC 9112 9.6).
  if (carrier_ != nullptr || held_ || !is_open()) return;
  const Duration grace = shard_->core().options().drain_grace;
  const bool quiet = connection_->queued_bytes() == 0;
  if (grace <= Duration::zero() || (quiet && shard_->waited(*this) >= grace)) return end();
  shard_->wait(*this, HttpWait::kGrace);
}

void Http1Session::timed_out(HttpWait what) {
  HttpStats& stats = shard_->stats();
  if (!is_open()) return;
  switch (what) {
    case HttpWait::kHead:
      ++stats.head_timeouts;
      if (carrier_ == nullptr) return end();
      return refuse(408);
    case HttpWait::kIdle:
      if (connection_->queued_bytes() > 0) {  // the last answer is still being sent
        connection_->expect_output();
        return shard_->wait(*this, HttpWait::kIdle);
      }
      ++stats.idle_timeouts;
      return end();
    case HttpWait::kBody: return body_too_slow();
    case HttpWait::kAnswer:
      if (carrier_ == nullptr || carrier_->begun()) return;  // a coroutine begins an answer without ending this wait
      ++stats.answer_timeouts;
      PEAL_LOG_WARN("the handler of {} {} has not begun its answer in time: the server answers 503",
                    carrier_->head().method_text(), carrier_->head().path());
      return carrier_->answer_instead(503);
    case HttpWait::kGrace:
      if (held_ || connection_->queued_bytes() > 0) {
        connection_->expect_output();
        return shard_->wait(*this, HttpWait::kGrace);
      }
      return end();
    case HttpWait::kNothing: return end();
  }
}

void Http1Session::body_too_slow() {
  const uint64_t arrived = connection_->arrived_bytes();
  if (!carrier_->body_too_slow(arrived)) {
    carrier_->begin_body_window(arrived);
    return shard_->wait(*this, HttpWait::kBody);
  }
  ++shard_->stats().body_timeouts;
  refuse(408);
}

void Http1Session::closed(CloseReason reason) {
  if (reason == CloseReason::kWriteTooSlow || reason == CloseReason::kNeitherRead) ++shard_->stats().send_timeouts;
  if (upgrade_handler_) upgrade_handler_->on_close(*connection_, reason);
  abandon(true);
}

void Http1Session::upgrade(std::unique_ptr<UpgradeHandler> handler) {
  ++shard_->stats().upgraded;
  send(output());
  upgrade_handler_ = std::move(handler);
  upgrade_handler_->on_start(*connection_);
  if (draining_ && connection_->is_open()) upgrade_handler_->on_drain(*connection_);
}

}  // namespace peal::detail
