// SPDX-License-Identifier: BSD-3-Clause
// A call from here to the fetch or the pool may drop this link, end its fetch or destroy the client. So each event
// keeps the link and the pool alive until it returns, and does nothing after the call that may reach the user's code.
#include <peal/http/client/parts/http_link.h>

#include <cerrno>
#include <utility>

#include <peal/http/client/http_fetch.h>
#include <peal/http/client/parts/http_pool.h>

namespace peal::detail {
namespace {

// Returns the error for a request whose connection has ended for `reason`. Returns no error if the client itself has
// ended the connection.
std::error_code error_of_end(CloseReason reason, std::error_code error) {
  switch (reason) {
    case CloseReason::kLocal:
    case CloseReason::kPipeEnded: return {};
    case CloseReason::kPeerClosed:
    case CloseReason::kReset: return make_error_code(HttpTrouble::kClosedEarly);
    case CloseReason::kFailed:
    case CloseReason::kTruncated: return error;
    case CloseReason::kReadTooSlow:
    case CloseReason::kWriteTooSlow:
    case CloseReason::kNeitherRead: return make_error_code(HttpTrouble::kStalled);
    case CloseReason::kOutputLimit: return make_error_code(HttpTrouble::kUploadTooFarBehind);
    case CloseReason::kLoopStopped: return make_error_code(Trouble::kLoopStopped);
    default: return errno_code(ECONNABORTED);
  }
}

}  // namespace

Result<void> HttpLink::connect(Loop& loop, const HttpWay& way, const ClientOptions& options) {
  auto failed = [weak = weak_from_this()](std::error_code error, Duration) {
    const auto self = weak.lock();
    const auto pool = self ? self->pool_.lock() : nullptr;
    if (pool) pool->connect_failed(*self, error);
  };
  client_ = std::make_unique<Client>(loop, callbacks(), options, std::move(failed));
  return std::visit([&](const auto& to) { return client_->connect(to); }, way);
}

ConnectionCallbacks HttpLink::callbacks() {
  const auto weak = weak_from_this();
  return {.on_open =
              [weak](Connection& connection) {
                if (const auto self = weak.lock()) self->opened(connection);
              },
          .on_message =
              [weak](Connection& connection, Buffer& input) {
                if (const auto self = weak.lock()) self->received(connection, input);
              },
          .on_writable =
              [weak](Connection&) {
                if (const auto self = weak.lock()) self->writable();
              },
          .on_peer_end =
              [weak](Connection&) {
                if (const auto self = weak.lock()) self->peer_ended();
              },
          .on_secured =
              [weak](Connection&) {
                if (const auto self = weak.lock()) self->ready();
              },
          .on_close =
              [weak](Connection&, CloseReason reason) {
                if (const auto self = weak.lock()) self->closed(reason);
              }};
}

void HttpLink::opened(Connection& connection) {
  connection_ = &connection;
  if (!origin.tunnel_request.empty()) return ask_for_tunnel();
  ready();
}

void HttpLink::ready() {
  const auto pool = pool_.lock();
  if (!pool) return;
  connection_->loop().cancel(std::exchange(tunnel_timer_, {}));
  connecting_ = false;
  pool->opened(*this);
}

void HttpLink::carry(HttpFetch& fetch) {
  fetch_ = &fetch;
  ++carried_;
  fetch.start_on(*this);
}

void HttpLink::detach_fetch() {
  fetch_ = nullptr;
  parser_.trim();
  if (!is_open()) return;
  connection_->expect_input(false);
  connection_->resume();
}

void HttpLink::await_rest() {
  awaits_rest_ = true;
  connection_->report_drained();
}

void HttpLink::writable() {
  const auto pool = pool_.lock();
  if (!pool) return;
  if (fetch_ != nullptr) return fetch_->writable();
  if (std::exchange(awaits_rest_, false)) pool->release(*this, true);
}

void HttpLink::received(Connection&, Buffer& input) {
  const auto pool = pool_.lock();
  if (!pool) return;
  if (fetch_ != nullptr) return fetch_->received(input);
  if (awaits_tunnel_) return take_tunnel_answer(input);
  input.clear();
  pool->drop(*this);  // bytes on an idle connection answer no request
}

void HttpLink::peer_ended() {
  const auto pool = pool_.lock();
  if (!pool) return;
  if (connecting_) return tunnel_failed(make_error_code(HttpTrouble::kClosedEarly));
  if (fetch_ == nullptr) return pool->drop(*this);
  if (!parser_.started()) return report_end(make_error_code(HttpTrouble::kClosedEarly));
  fetch_->peer_ended();
}

void HttpLink::closed(CloseReason reason) {
  const auto pool = pool_.lock();
  if (!pool) return;
  const std::error_code error = connection_->error();
  connection_ = nullptr;
  if (connecting_) return tunnel_failed(error_of_end(reason, error));
  report_end(error_of_end(reason, error));
}

void HttpLink::report_end(std::error_code error) {
  HttpFetch* const fetch = std::exchange(fetch_, nullptr);
  const bool stale = carried_ > 1 && !parser_.started();
  pool_.lock()->drop(*this);
  if (fetch != nullptr) fetch->connection_lost(error, stale);
}

}  // namespace peal::detail
