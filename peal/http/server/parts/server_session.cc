// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/server_session.h>

#include <algorithm>
#include <cerrno>

#include <peal/http/server/parts/http_core.h>
#include <peal/loop/loop.h>
#include <peal/wire/uri/http_path.h>

namespace peal::detail {

namespace {

// Answers gathered beyond it leave before the next request is looked at: so that a client that does not read them is
// noticed.
constexpr size_t kMostBatchedBytes = 64 * 1024;

}  // namespace

void HttpSession::operator delete(HttpSession* session, std::destroying_delete_t) {
  session->detach();
  session->shard_->give_back(session);
}

// The steps of a request, the innermost first: each is called once, by the next.
[[gnu::always_inline]] inline void HttpSession::answer(HttpExchange& exchange, RouteTree::Route& route) {
  if (!exchange.request_read_) {
    const uint64_t own = route.options.body_limit_bytes;
    const uint64_t limit = own != 0 ? own : shard_->core().options().limits.body_bytes;
    exchange.parser_.set_body_limit(limit);
    if (exchange.head_.content_length().value_or(0) > limit) {
      ++shard_->stats().too_large;
      return exchange.respond_error(413);
    }
  }
  route.handler(exchange);
}

[[gnu::always_inline]] inline void HttpSession::dispatch(HttpExchange& exchange) {
  const HttpRequestHead& head = exchange.head_;
  if (RouteTree::Route* route = shard_->core().routes().literal(head)) return answer(exchange, *route);
  const bool options = head.method() == HttpMethod::kOptions;
  std::string_view path = head.path();
  if (options && path == "*") {
    exchange.set_field("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    return exchange.respond(204);
  }
  const bool connect = head.method() == HttpMethod::kConnect;
  if (connect) exchange.close_after();  // what the client sends behind it may not be HTTP, whatever the answer
  if (path.empty()) path = "/";
  exchange.texts_grew_ = true;
  const auto normalized = normalize_http_path(path, exchange.path_storage_);
  if (!normalized) {
    ++shard_->stats().malformed;
    return exchange.respond_error(400);
  }
  const RouteTree::Match match = shard_->core().routes().match(exchange, *normalized);
  if (match.route != nullptr) return answer(exchange, *match.route);
  if (connect) {
    ++shard_->stats().unrouted;
    return exchange.respond_error(501);
  }
  if (match.known_path) exchange.set_field("Allow", match.allow);
  if (match.known_path && options) return exchange.respond(204);
  ++shard_->stats().unrouted;
  exchange.respond_error(match.known_path ? 405 : 404);
}

[[gnu::always_inline]] inline void HttpSession::start(HttpExchange& exchange) {
  ++shard_->stats().requests;
  ++requests_;
  exchange.head_read_ = true;
  if (exchange.head_.has_body()) {
    exchange.texts_grew_ = true;  // by trailers
    exchange.continue_due_ = exchange.head_.expects_continue();
  } else {
    exchange.parser_.take_end();
    exchange.request_read_ = true;
  }
  call(exchange, [&] { dispatch(exchange); });
  settle();
}

[[gnu::always_inline]] inline bool HttpSession::take_head(HttpExchange& exchange, Buffer& input) {
  const std::string_view bytes =
      input.is_contiguous() ? input.front() : input.view(std::min<size_t>(input.size(), kMostHttpHeadBytes));
  const HttpRequestStep step = exchange.parser_.next(bytes, exchange.head_);
  if (step.event == HttpRequestEvent::kHead) [[likely]] {
    exchange.keep_head();
    input.consume(step.consumed);
    shard_->expects_more = !input.empty();
    start(exchange);
    return true;
  }
  if (step.event == HttpRequestEvent::kFailed) {
    ++shard_->stats().requests;
    refuse(exchange, http_status(exchange.parser_.error()));
    input.clear();
    return false;
  }
  input.consume(step.consumed);
  if (exchange.parser_.is_idle() && input.empty()) {
    release_exchange();
  } else if (wait != HttpWait::kHead) {
    shard_->wait(*this, HttpWait::kHead);
  }
  return false;
}

// One thing that the input has; false when there is no more to be had from it now.
bool HttpSession::step(Buffer& input) {
  const bool in_body = exchange_ != nullptr && exchange_->head_read_ && !exchange_->request_read_;
  if (input.empty() && !in_body) return false;
  if (above_) return hold();
  if (exchange_ == nullptr) exchange_ = &shard_->acquire(*this);
  HttpExchange& exchange = *exchange_;
  if (!exchange.head_read_) return take_head(exchange, input);
  if (exchange.request_read_) {
    if (!held_) ++shard_->stats().pipelined;
    return hold();
  }
  if (exchange.wants_body()) return take_body(exchange, input);
  // The end of a body may have come with the last piece that was wanted.
  if (exchange.body_consumer_ != HttpExchange::BodyConsumer::kNobody &&
      exchange.parser_.next({}, exchange.head_).event == HttpRequestEvent::kEnd) {
    exchange.request_read_ = true;
    return true;
  }
  return !input.empty() && hold();
}

void HttpSession::received(Buffer& input) {
  if (upgrade_handler_) return upgrade_handler_->on_data(*connection_, input);
  shard_->begin_batch(*this);
  while (is_open() && step(input) && (!input.empty() || exchange_ != nullptr)) {
  }
  send(output());
  shard_->end_batch();
  if (upgrade_handler_) {
    if (!input.empty() && connection_->is_open()) upgrade_handler_->on_data(*connection_, input);
    return;
  }
  follow();
}

// Nothing the client sends is to be understood from here on.
void HttpSession::refuse(HttpExchange& exchange, int status) {
  HttpStats& stats = shard_->stats();
  if (status == 413 || status == 414 || status == 431) {
    ++stats.too_large;
  } else if (status != 408) {
    ++stats.malformed;
  }
  if (exchange.answer_ == HttpExchange::Answer::kComplete) return end();
  if (exchange.begun()) return connection_->abort();
  // What was read of a head that is not whole may lie elsewhere by now, or be of the request before.
  if (!exchange.head_read_) exchange.head_.forget();
  exchange.wants_close_ = true;
  answer_instead(exchange, status);
}

// Who was to answer is told, when the exchange is released, that its answer is no longer wanted.
void HttpSession::answer_instead(HttpExchange& exchange, int status) {
  ++exchange.calls_;
  exchange.respond_error(status);
  --exchange.calls_;
  exchange.taken_ = true;
  settle();
}

bool HttpSession::take_body(HttpExchange& exchange, Buffer& input) {
  const HttpRequestStep step = exchange.parser_.next(input.front(), exchange.head_);
  switch (step.event) {
    case HttpRequestEvent::kBody:
      shard_->stats().request_body_bytes += step.body.size();
      exchange.continue_due_ = false;
      if (exchange.body_consumer_ == HttpExchange::BodyConsumer::kDropped) {
        if (exchange.parser_.body_bytes() - exchange.drop_mark_ <= shard_->core().options().drain_limit_bytes) break;
        ++shard_->stats().undrained;
        end();
        return false;
      }
      call(exchange, [&] { exchange.body_piece(step.body); });
      break;
    case HttpRequestEvent::kEnd:
      input.consume(step.consumed);
      exchange.request_read_ = true;
      call(exchange, [&] { exchange.body_ended(); });
      settle();
      return true;
    case HttpRequestEvent::kFailed:
      refuse(exchange, http_status(exchange.parser_.error()));
      input.clear();
      return false;
    case HttpRequestEvent::kHead:
    case HttpRequestEvent::kNeedMore: input.consume(step.consumed); return step.consumed > 0;
  }
  input.consume(step.consumed);
  settle();
  return true;
}

// What is left of the input waits.
bool HttpSession::hold() {
  if (!held_) {
    held_ = true;
    connection_->pause();
  }
  return false;
}

void HttpSession::unhold() {
  if (!held_) return;
  held_ = false;
  connection_->resume();
}

bool HttpSession::must_close() const {
  const uint32_t most = shard_->core().options().max_requests_per_connection;
  return draining_ || (most != 0 && requests_ >= most);
}

void HttpSession::settle() {
  HttpExchange* exchange = exchange_;
  if (exchange != nullptr && exchange->calls_ > 0) return;
  if (exchange != nullptr && exchange->complete()) {
    if (upgrade_handler_) {
      release_exchange();
      shard_->leave(*this);
      return unhold();
    }
    if (!exchange->keeps_) {
      const bool last = exchange->request_read_ && !exchange->head_.keep_alive() && !exchange->head_.has_body();
      release_exchange();
      return end(last);
    }
    if (exchange->request_read_) {
      release_exchange();
    } else if (exchange->body_consumer_ != HttpExchange::BodyConsumer::kDropped) {
      exchange->drop_body();
    }
  }
  if (shard_->batches(*this)) return;
  follow();
  if (!above_ && (exchange_ == nullptr || (!exchange_->request_read_ && exchange_->wants_body()))) unhold();
}

// Between two callbacks: what is waited for now.
void HttpSession::follow() {
  if (!is_open()) return shard_->leave(*this);
  connection_->set_busy(exchange_ != nullptr);
  if (exchange_ == nullptr) {
    if (peer_ended_ && !held_) return end();
    const HttpWait between = requests_ == 0 ? HttpWait::kHead : HttpWait::kIdle;
    return shard_->wait(*this, draining_ ? HttpWait::kGrace : between);
  }
  if (!exchange_->head_read_) return;
  if (exchange_->request_read_ || !exchange_->wants_body()) return await_answer();
  if (wait == HttpWait::kBody) return;
  exchange_->begin_body_window();
  shard_->wait(*this, HttpWait::kBody);
}

// Nothing is awaited from the client: it is the handler's turn, until the answer has begun.
void HttpSession::await_answer() {
  if (exchange_->begun()) return shard_->leave(*this);
  if (wait != HttpWait::kAnswer) shard_->wait(*this, HttpWait::kAnswer);
}

void HttpSession::release_exchange() {
  HttpExchange& exchange = *std::exchange(exchange_, nullptr);
  exchange.session_ = nullptr;
  if (!exchange.has_extras_) return shard_->release(exchange);
  HttpExtras& extras = *exchange.extras_;
  if (exchange.taken_ && extras.on_abandoned) call(exchange, [&] { extras.on_abandoned(exchange); });
  if (!extras.run) return shard_->release(exchange);
  if (exchange.taken_) return extras.run->cancel(ECANCELED);
  // It goes on, though not in a wait that nothing ends any more; in the end it releases the exchange.
  const ReadyQueue::Hold hold;
  if (extras.reader != nullptr) std::exchange(extras.reader, nullptr)->complete(0);
  if (extras.writer != nullptr) std::exchange(extras.writer, nullptr)->complete(0);
}

// `last`: the client has said that it asks no more (RFC 9112 9.6), so only the kernel must take the answer. A long
// answer is watched until the client has it; so is one to a body, since some clients send an empty line after that.
void HttpSession::end(bool last) {
  constexpr size_t kShortBytes = 64 * 1024;
  if (exchange_ != nullptr && exchange_->complete() && exchange_->calls_ == 0) release_exchange();
  shard_->leave(*this);
  send(output());
  last && connection_->queued_bytes() <= kShortBytes ? connection_->close_when_sent() : connection_->close();
}

bool HttpSession::put_done() {
  if (shard_->batches(*this) && output().size() < kMostBatchedBytes) return !above_;
  return send(output());
}

bool HttpSession::send(Buffer& bytes) {
  if (!bytes.holds_blocks()) return !above_;
  if (!connection_->send(std::move(bytes))) above_ = true;
  bytes = Buffer();  // a connection that is closing leaves it as it was
  return !above_;
}

// Files count towards no limit of the connection: with more of them queued than the high-water mark the next answer
// waits until the kernel has them.
void HttpSession::send_file(FileRange range) {
  send(output());
  if (!connection_->is_open()) return;
  const bool large = range.bytes > shard_->core().options().high_water_bytes;
  connection_->send_file(std::move(range));
  if (!large) return;
  above_ = true;
  connection_->expect_output();
  connection_->report_drained();
}

void HttpSession::writable() {
  if (upgrade_handler_) return upgrade_handler_->on_writable(*connection_);
  above_ = !connection_->can_send();  // then nothing more can be answered, and the end is near
  HttpExchange* exchange = exchange_;
  if (exchange != nullptr && exchange->has_extras_) {
    HttpExtras& extras = *exchange->extras_;
    if (HttpWritable* writer = std::exchange(extras.writer, nullptr)) writer->complete(0);
    if (extras.on_writable) call(*exchange, [&] { extras.on_writable(*exchange); });
  }
  settle();
}

}  // namespace peal::detail
