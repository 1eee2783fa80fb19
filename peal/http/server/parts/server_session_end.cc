// SPDX-License-Identifier: BSD-3-Clause
// How a session ends, or is told to: by its client, by time, by the server, by another protocol, by an exception.
#include <cerrno>

#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/http/server/parts/server_session.h>
#include <peal/loop/loop.h>

namespace peal::detail {

void HttpSession::peer_ended() {
  if (upgrade_handler_) return upgrade_handler_->on_peer_end(*connection_);
  peer_ended_ = true;
  if (exchange_ == nullptr) return end();
  if (!exchange_->head_read_) return end();
  if (!exchange_->request_read_) refuse(*exchange_, 400);
}

void HttpSession::drain() {
  if (upgrade_handler_) return upgrade_handler_->on_drain(*connection_);
  draining_ = true;
  // A request that waits behind an answer under way gets its own, which says that it is the last (RFC 9112 9.6).
  if (exchange_ != nullptr || held_) return;
  const Duration grace = shard_->core().options().drain_grace;
  const bool quiet = connection_->queued_bytes() == 0;
  if (grace <= Duration::zero() || (quiet && shard_->waited(*this) >= grace)) return end();
  shard_->wait(*this, HttpWait::kGrace);
}

void HttpSession::timed_out(HttpWait what) {
  HttpStats& stats = shard_->stats();
  if (!is_open()) return;
  switch (what) {
    case HttpWait::kHead:
      ++stats.head_timeouts;
      if (exchange_ == nullptr) return end();
      return refuse(*exchange_, 408);
    case HttpWait::kIdle:
      if (connection_->queued_bytes() > 0) {  // the last answer is still on its way
        connection_->expect_output();
        return shard_->wait(*this, HttpWait::kIdle);
      }
      ++stats.idle_timeouts;
      return end();
    case HttpWait::kBody: return body_too_slow(*exchange_);
    case HttpWait::kAnswer:
      if (exchange_ == nullptr || exchange_->begun()) return;  // a coroutine begins without telling
      ++stats.answer_timeouts;
      PEAL_LOG_WARN("the handler of {} {} has not answered in time", exchange_->head_.method_text(),
                    exchange_->head_.path());
      return answer_instead(*exchange_, 503);
    case HttpWait::kGrace:
      if (held_ || connection_->queued_bytes() > 0) {
        connection_->expect_output();
        return shard_->wait(*this, HttpWait::kGrace);
      }
      return end();
    case HttpWait::kNothing: return end();
  }
}

void HttpSession::body_too_slow(HttpExchange& exchange) {
  const HttpServerOptions& options = shard_->core().options();
  const bool slow = exchange.parser_.body_bytes() - exchange.window_mark_ < options.min_body_bytes;
  const bool late = options.body_timeout > Duration::zero() &&
                    shard_->loop().now() >= exchange.body_since_ + bounded(options.body_timeout);
  if (!slow && !late) {
    exchange.begin_body_window();
    return shard_->wait(*this, HttpWait::kBody);
  }
  ++shard_->stats().body_timeouts;
  refuse(exchange, 408);
}

void HttpSession::closed(CloseReason reason) {
  if (reason == CloseReason::kWriteTooSlow) ++shard_->stats().send_timeouts;
  if (upgrade_handler_) upgrade_handler_->on_close(*connection_, reason);
  abandon(true);
}

void HttpSession::detach() {
  abandon(false);
  shard_->leave(*this);
  upgrade_handler_.reset();
}

// The exchange loses its connection. A coroutine that answers it ends soon, and releases it then.
void HttpSession::abandon(bool tell) {
  if (exchange_ == nullptr) return;
  HttpExchange& exchange = *std::exchange(exchange_, nullptr);
  PEAL_ASSERT(exchange.calls_ == 0, "a connection dies inside {} calls of its handler", exchange.calls_);
  exchange.session_ = nullptr;
  const bool complete = exchange.complete();
  if (exchange.head_read_ && !complete) ++shard_->stats().abandoned;
  if (!exchange.has_extras_) return shard_->release(exchange);
  HttpExtras& extras = *exchange.extras_;
  if (tell && !complete && extras.on_abandoned) call(exchange, [&] { extras.on_abandoned(exchange); });
  if (!extras.run) return shard_->release(exchange);
  if (!complete) extras.run->cancel(ECANCELED);
}

void HttpSession::upgrade(std::unique_ptr<UpgradeHandler> handler) {
  ++shard_->stats().upgraded;
  send(output());
  upgrade_handler_ = std::move(handler);
  upgrade_handler_->on_start(*connection_);
  if (draining_ && connection_->is_open()) upgrade_handler_->on_drain(*connection_);
}

void HttpSession::threw(HttpExchange& exchange) {
  ++exchange.shard_->stats().exceptions;
  PEAL_LOG_ERROR("the handler of {} {} threw: {}", exchange.head_.method_text(), exchange.head_.path(),
                 what_was_thrown());
  HttpSession* session = exchange.session_;
  if (session == nullptr || exchange.complete()) return;
  if (exchange.begun()) return session->connection_->abort();
  exchange.field_lines_.clear();
  exchange.offers_upgrade_ = false;
  session->answer_instead(exchange, 500);
}

}  // namespace peal::detail
