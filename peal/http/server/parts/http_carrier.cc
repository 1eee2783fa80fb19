// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/http_carrier.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/loop/loop.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {

namespace {

// Number of bytes that are first allocated for the text of a head.
constexpr size_t kFirstHeadBytes = 512;

// Number of bytes of the body that are read ahead for a coroutine. While this many are unread, the connection is not
// read.
constexpr size_t kMostUnreadBytes = 64 * 1024;

}  // namespace

void HttpCarrier::keep_head() {
  const std::string_view text = head_.text();
  if (text.size() > head_room_) [[unlikely]] {
    texts_grew_ = true;
    const size_t room = std::max(2 * head_room_, std::max<size_t>(text.size(), kFirstHeadBytes));
    head_text_ = std::make_unique_for_overwrite<char[]>(room);
    head_room_ = room;
  }
  std::memcpy(head_text_.get(), text.data(), text.size());
  head_.relocate(head_text_.get());
}

void HttpCarrier::begin_body(bool awaits_continue) {
  continue_due_ = awaits_continue;
  texts_grew_ = true;  // trailers may make the texts grow
}

// Sets the limit of the request's body to the limit of the route. Returns false if the declared length exceeds the
// limit; the request was then answered 413.
bool HttpCarrier::body_may_come(const RouteTree::Route& route) {
  const uint64_t own = route.options.body_limit_bytes;
  const uint64_t limit = own != 0 ? own : shard().core().options().limits.body_bytes;
  limit_body(limit);
  if (head_.content_length().value_or(0) <= limit) return true;
  answer_through(*route.group);
  return false;
}

// Returns the request's path in the normalized form in which it is compared with patterns. If normalizing changes the
// path, the result is stored in `storage`.
static auto route_path(const HttpRequestHead& head, std::string& storage) {
  return normalize_http_path(head.path().empty() ? "/" : head.path(), storage);
}

static bool asks_for_the_server(const HttpRequestHead& head) {
  return head.method() == HttpMethod::kOptions && head.path() == "*";
}

// Finds the handler for a path that does not literally equal a pattern, and calls it.
void HttpCarrier::dispatch() {
  RouteTree& routes = shard().routes();
  route_ = 0;
  if (asks_for_the_server(head_)) return answer_through(routes.root_group());
  texts_grew_ = true;
  const auto path = route_path(head_, path_storage_);
  if (!path) return answer_through(routes.root_group());
  const RouteTree::Match match = routes.match(*this, *path);
  if (match.route != nullptr) return call_handler(*match.route);
  answer_through(*match.group);
}

// Calls answer_by_router() inside the middleware of the group.
void HttpCarrier::answer_through(const RouteGroupParts& group) {
  if (group.by_router) return (*group.by_router)(*this);
  answer_by_router(*this);
}

// Determines again why no handler takes the request, and answers. The result of the first search was not kept, because
// middleware may have run for any time since then, and may have answered.
void HttpCarrier::answer_by_router(HttpExchange& exchange) {
  HttpCarrier& carrier = of(exchange);
  if (!carrier.carried_) return;
  HttpShard& shard = carrier.shard();
  HttpStats& stats = shard.stats();
  const HttpRequestHead& head = carrier.head_;
  if (asks_for_the_server(head)) {
    exchange.set_field("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    return exchange.respond(204);
  }
  const auto path =
      route_path(head, carrier.path_storage_);  // normalizes to the same text, so the parameters' views stay valid
  if (!path) {
    ++stats.malformed;
    return exchange.respond(400);
  }
  const RouteTree::Match match = shard.core().routes().match(exchange, *path);
  if (match.route != nullptr) {  // the route exists, so the declared length of the body was too large
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
  arrived_bytes_ += piece.size();
  continue_due_ = false;
  if (body_dropped()) {
    return arrived_bytes_ - drop_mark_ <= shard().core().options().drain_limit_bytes;
  }
  call([&] { deliver_piece(piece); });
  return true;
}

void HttpCarrier::body_ended() {
  request_read_ = true;
  call([&] { deliver_body_end(); });
}

void HttpCarrier::drop_body() {
  limit_body(UINT64_MAX);  // drain_limit_bytes limits a dropped body instead
  body_consumer_ = BodyConsumer::kDropped;
  drop_mark_ = arrived_bytes_;
  if (!has_extras_) return;
  if (extras_->reader != nullptr) std::exchange(extras_->reader, nullptr)->complete(0);
  if (extras_->answered != nullptr) std::exchange(extras_->answered, nullptr)->complete(0);
}

bool HttpCarrier::wants_body() const {
  if (body_paused_ && body_consumer_ != BodyConsumer::kDropped) return false;
  if (body_consumer_ == BodyConsumer::kCoroutine) return extras_->unread.size() < kMostUnreadBytes;
  return body_consumer_ != BodyConsumer::kNobody;
}

void HttpCarrier::begin_body_window(uint64_t arrived) {
  window_mark_ = arrived;
  if (body_since_ == TimePoint{}) body_since_ = loop().now();
}

bool HttpCarrier::body_too_slow(uint64_t arrived) const {
  const HttpServerOptions& options = shard().core().options();
  return arrived - window_mark_ < options.min_body_bytes ||
         (options.body_timeout > Duration::zero() && shard().loop().now() >= later(body_since_, options.body_timeout));
}

void HttpCarrier::report_writable() {
  if (!has_extras_) return;
  call([&] {
    HttpExtras& extras = *extras_;
    if (HttpWritable* writer = std::exchange(extras.writer, nullptr)) writer->complete(0);
    if (extras.on_writable && !complete()) extras.on_writable(*this);
  });
}

// The handler is notified by on_abandoned, which detach() calls.
void HttpCarrier::answer_instead(int status) {
  ++calls_;
  drop_prepared();
  if (!head_read_) route_ = 0;
  respond(status);
  --calls_;
  answered_instead_ = true;
  advance();
}

void HttpCarrier::handle_exception() {
  ++shard().stats().exceptions;
  if (const auto suppressed = shard().throws_log().admit(shard().loop().now())) {
    PEAL_LOG_ERROR("the handler of {} {} threw: {} ({} more like it)", head_.method_text(), head_.path(),
                   what_was_thrown(), *suppressed);
  }
  if (!carried_ || complete()) return;
  if (begun()) return send_reset();
  extras().thrown = std::current_exception();
  answer_instead(500);
}

void HttpCarrier::keep_peer() {
  HttpExtras& kept = extras();
  if (kept.peer || !has_connection()) return;
  if (const Result<SocketAddress> peer = underlying_connection().peer_address()) kept.peer = *peer;
}

Result<SocketAddress> HttpCarrier::known_peer() const {
  if (has_extras_ && extras_->peer) return *extras_->peer;
  if (!carried_ || !has_connection()) return fail(ENOTCONN);
  return underlying_connection().peer_address();
}

bool HttpCarrier::detach_extras() {
  HttpExtras& extras = *extras_;
  if (std::exchange(extras.gathered_bytes, 0) > 0) report_gathered(0);
  if (answered_instead_ && extras.on_abandoned) call([&] { extras.on_abandoned(*this); });
  if (!extras.run) return true;
  if (has_connection()) extras.connection = underlying_connection().handle();
  if (answered_instead_) {
    extras.run->cancel(ECANCELED);
    return false;
  }
  end_waits(extras);
  return false;
}

// Ends the waits of a coroutine whose exchange has ended, because nothing else would end them now. The coroutine itself
// continues.
void HttpCarrier::end_waits(HttpExtras& extras) {
  const ReadyQueue::Hold hold;
  if (extras.reader != nullptr) std::exchange(extras.reader, nullptr)->complete(0);
  if (extras.writer != nullptr) std::exchange(extras.writer, nullptr)->complete(0);
  if (extras.answered != nullptr) std::exchange(extras.answered, nullptr)->complete(0);
}

void HttpCarrier::task_ended(HttpExchange& exchange) {
  HttpCarrier& carrier = of(exchange);
  if (!carrier.carried_ || carrier.complete()) return;
  if (carrier.begun()) return carrier.end();
  HttpShard& shard = carrier.shard();
  if (const auto suppressed = shard.unanswered_log().admit(shard.loop().now())) {
    PEAL_LOG_ERROR("the coroutine for {} ended without an answer: the server answers 500 ({} more like it)",
                   carrier.head_.path(), *suppressed);
  }
  carrier.drop_prepared();
  carrier.respond(500);
}

// Status in the access log if the client has left before its answer began. nginx logs the same status.
constexpr int kClientGone = 499;

// Cancels a coroutine that still runs if the answer is not complete; otherwise only ends the coroutine's waits. The
// coroutine gives the carrier back when it ends.
void HttpCarrier::abandon(bool notify) {
  PEAL_ASSERT(calls_ == 0, "a connection has ended inside {} calls of its handler", calls_);
  const bool answered = complete();
  if (head_read_ && !answered) {
    ++shard().stats().abandoned;
    const bool logs = notify && shard().core().options().access_log;
    if (logs) shard().log(*this, begun() ? status() : kClientGone);
    shard().note_abandoned(*this, notify);
  }
  carried_ = false;
  if (!has_extras_) return give_back();
  HttpExtras& extras = *extras_;
  if (notify && !answered && extras.on_abandoned) call([&] { extras.on_abandoned(*this); });
  if (!extras.run) return give_back();
  if (answered) {
    end_waits(extras);
  } else {
    extras.run->cancel(ECANCELED);
  }
}

}  // namespace peal::detail
