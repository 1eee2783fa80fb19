// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/http_carrier.h>

#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/loop/loop.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {

void HttpCarrier::begin_body(bool awaits_continue) {
  exchange_.continue_due_ = awaits_continue;
  exchange_.texts_grew_ = true;  // by trailers
}

// False: one so long as it says it is was refused.
bool HttpCarrier::body_may_come(const RouteTree::Route& route) {
  const uint64_t own = route.options.body_limit_bytes;
  const uint64_t limit = own != 0 ? own : shard().core().options().limits.body_bytes;
  limit_body(limit);
  if (exchange_.head_.content_length().value_or(0) <= limit) return true;
  answer_by_router(*route.group);
  return false;
}

// The path as routes have it, in `storage` where it was sent otherwise.
static auto route_path(const HttpRequestHead& head, std::string& storage) {
  return normalize_http_path(head.path().empty() ? "/" : head.path(), storage);
}

static bool asks_for_the_server(const HttpRequestHead& head) {
  return head.method() == HttpMethod::kOptions && head.path() == "*";
}

// What is no pattern without parameters, or not as it was sent.
void HttpCarrier::dispatch() {
  RouteTree& routes = shard().core().routes();
  if (asks_for_the_server(exchange_.head_)) return answer_by_router(routes.root_group());
  exchange_.texts_grew_ = true;
  const auto path = route_path(exchange_.head_, exchange_.path_storage_);
  if (!path) return answer_by_router(routes.root_group());
  const RouteTree::Match match = routes.match(exchange_, *path);
  if (match.route != nullptr) return answer(*match.route);
  answer_by_router(*match.group);
}

// Through the middleware of the group, as handlers answer.
void HttpCarrier::answer_by_router(const RouteGroupParts& group) {
  if (group.by_router) return (*group.by_router)(exchange_);
  answer_by_router(exchange_);
}

// Behind middleware, which may have taken its time, so why there is no handler for the request is found out again.
void HttpCarrier::answer_by_router(HttpExchange& exchange) {
  if (!exchange.carried_) return;
  HttpShard& shard = exchange.carrier_.shard();
  HttpStats& stats = shard.stats();
  const HttpRequestHead& head = exchange.head_;
  if (asks_for_the_server(head)) {
    exchange.set_field("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    return exchange.respond(204);
  }
  const auto path = route_path(head, exchange.path_storage_);  // as it is there already: parameters point to it
  if (!path) {
    ++stats.malformed;
    return exchange.respond(400);
  }
  const RouteTree::Match match = shard.core().routes().match(exchange, *path);
  if (match.route != nullptr) {  // whose handler takes no body so long as this says it is
    ++stats.too_large;
    return exchange.respond(413);
  }
  const HttpMethod method = head.method();
  if (match.known_path && method != HttpMethod::kConnect) exchange.set_field("Allow", match.allow);
  if (match.known_path && method == HttpMethod::kOptions) return exchange.respond(204);
  ++stats.unrouted;
  exchange.respond(method == HttpMethod::kConnect ? 501 : match.known_path ? 405 : 404);
}

bool HttpCarrier::body_arrived(std::string_view piece) {
  shard().stats().request_body_bytes += piece.size();
  exchange_.arrived_bytes_ += piece.size();
  exchange_.continue_due_ = false;
  if (body_dropped()) {
    return exchange_.arrived_bytes_ - exchange_.drop_mark_ <= shard().core().options().drain_limit_bytes;
  }
  call([&] { exchange_.body_piece(piece); });
  return true;
}

void HttpCarrier::body_ended() {
  exchange_.request_read_ = true;
  call([&] { exchange_.body_ended(); });
}

void HttpCarrier::drop_body() {
  limit_body(UINT64_MAX);  // the bound is drain_limit_bytes
  exchange_.drop_body();
}

bool HttpCarrier::body_too_slow(uint64_t arrived) const {
  const HttpServerOptions& options = shard().core().options();
  return arrived - exchange_.window_mark_ < options.min_body_bytes ||
         (options.body_timeout > Duration::zero() &&
          shard().loop().now() >= later(exchange_.body_since_, options.body_timeout));
}

void HttpCarrier::tell_writable() {
  if (!exchange_.has_extras_) return;
  call([&] {
    HttpExtras& extras = *exchange_.extras_;
    if (HttpWritable* writer = std::exchange(extras.writer, nullptr)) writer->complete(0);
    if (extras.on_writable && !exchange_.complete()) extras.on_writable(exchange_);
  });
}

// Who was to answer is told, when the exchange is let go, that its answer is no longer wanted.
void HttpCarrier::answer_instead(int status) {
  ++exchange_.calls_;
  exchange_.drop_prepared();
  exchange_.respond(status);
  --exchange_.calls_;
  exchange_.taken_ = true;
  settle();
}

void HttpCarrier::threw() {
  ++shard().stats().exceptions;
  if (const auto suppressed = shard().throws_log().admit(shard().loop().now())) {
    PEAL_LOG_ERROR("the handler of {} {} threw: {} ({} more like it)", exchange_.head_.method_text(),
                   exchange_.head_.path(), what_was_thrown(), *suppressed);
  }
  if (!exchange_.carried_ || exchange_.complete()) return;
  if (exchange_.begun()) return reset();
  exchange_.extras().thrown = std::current_exception();
  answer_instead(500);
}

void HttpCarrier::keep_peer() {
  HttpExtras& extras = exchange_.extras();
  if (extras.peer || !has_connection()) return;
  if (const Result<SocketAddress> peer = connection().peer_address()) extras.peer = *peer;
}

Result<SocketAddress> HttpCarrier::peer_address() const {
  if (exchange_.has_extras_ && exchange_.extras_->peer) return *exchange_.extras_->peer;
  if (!exchange_.carried_ || !has_connection()) return fail(ENOTCONN);
  return connection().peer_address();
}

bool HttpCarrier::let_go_of_extras() {
  HttpExtras& extras = *exchange_.extras_;
  if (std::exchange(extras.gathered_bytes, 0) > 0) count_gathered(0);
  if (exchange_.taken_ && extras.on_abandoned) call([&] { extras.on_abandoned(exchange_); });
  if (!extras.run) return true;
  if (has_connection()) extras.connection = connection().handle();
  if (exchange_.taken_) {
    extras.run->cancel(ECANCELED);
    return false;
  }
  end_waits(extras);
  return false;
}

// The coroutine goes on, though not in a wait that nothing ends any more.
void HttpCarrier::end_waits(HttpExtras& extras) {
  const ReadyQueue::Hold hold;
  if (extras.reader != nullptr) std::exchange(extras.reader, nullptr)->complete(0);
  if (extras.writer != nullptr) std::exchange(extras.writer, nullptr)->complete(0);
  if (extras.answered != nullptr) std::exchange(extras.answered, nullptr)->complete(0);
}

void HttpCarrier::task_ended(HttpExchange& exchange) {
  if (!exchange.carried_ || exchange.complete()) return;
  if (exchange.begun()) return exchange.end();
  HttpShard& shard = exchange.carrier_.shard();
  if (const auto suppressed = shard.unanswered_log().admit(shard.loop().now())) {
    PEAL_LOG_ERROR("the coroutine for {} ended without an answer ({} more like it)", exchange.head_.path(),
                   *suppressed);
  }
  exchange.drop_prepared();
  exchange.respond(500);
}

// As nginx logs it: the client was gone before its answer began.
constexpr int kClientGone = 499;

// A coroutine that answers it ends soon, and gives the carrier back then.
void HttpCarrier::abandon(bool tell) {
  PEAL_ASSERT(exchange_.calls_ == 0, "a connection dies inside {} calls of its handler", exchange_.calls_);
  const bool complete = exchange_.complete();
  if (exchange_.head_read_ && !complete) {
    ++shard().stats().abandoned;
    const bool logs = tell && shard().core().options().access_log;
    if (logs) shard().log(exchange_, exchange_.begun() ? exchange_.status_ : kClientGone);
  }
  exchange_.carried_ = false;
  if (!exchange_.has_extras_) return give_back();
  HttpExtras& extras = *exchange_.extras_;
  if (tell && !complete && extras.on_abandoned) call([&] { extras.on_abandoned(exchange_); });
  if (!extras.run) return give_back();
  complete ? end_waits(extras) : extras.run->cancel(ECANCELED);
}

}  // namespace peal::detail
