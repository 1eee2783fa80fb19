// SPDX-License-Identifier: BSD-3-Clause
// The part of HttpExchange for the request's body, and for the coroutine that answers.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>
#include <peal/http/server/http_exchange.h>
#include <peal/http/server/parts/http_carrier.h>
#include <peal/http/server/parts/http_core.h>

namespace peal {

using detail::HttpCarrier;
using detail::HttpExtras;
using detail::HttpHandlerTask;

// Sets the receiver of the body and begins to read the body.
void HttpExchange::take_body(BodyConsumer taker) {
  if (body_consumer_ == BodyConsumer::kDropped) return;  // the server discards the body, because the answer is complete
  if (body_consumer_ != BodyConsumer::kNobody) out_of_order("its body was already asked for in another way");
  body_consumer_ = taker;
  if (!carried_ || request_read_) return;
  if (continue_due_) HttpCarrier::of(*this).say_continue();
  HttpCarrier::of(*this).advance();
}

void HttpExchange::on_body(Callback<void(HttpExchange&, std::string_view piece)> on_piece, HttpCallback on_end) {
  check_use();
  PEAL_ASSERT(on_piece && on_end, "on_body() of exchange {} needs two callbacks", serial_);
  extras().on_piece = std::move(on_piece);
  extras_->on_end = std::move(on_end);
  take_body(BodyConsumer::kPieces);
  if (carried_ && request_read_) extras_->on_end(*this);
}

void HttpExchange::read_body(Callback<void(HttpExchange&, std::string&& body)> on_whole) {
  check_use();
  PEAL_ASSERT(on_whole, "read_body() of exchange {} needs a callback", serial_);
  extras().on_whole = std::move(on_whole);
  extras_->whole.emplace();
  take_body(BodyConsumer::kWhole);
  if (carried_ && request_read_) extras_->on_whole(*this, {});
}

void HttpExchange::pause_body() {
  check_use();
  body_paused_ = true;
}

void HttpExchange::resume_body() {
  check_use();
  const bool was_paused = body_paused_;
  body_paused_ = false;
  if (!was_paused || !carried_) return;
  if (request_read_) return deliver_body_end();
  HttpCarrier::of(*this).advance();
}

// Reports to the connection how many bytes of the body this exchange holds because the handler has not received them
// yet.
void HttpExchange::count_gathered() {
  const HttpExtras& extras = *extras_;
  const size_t whole = extras.whole ? extras.whole->charge.bytes() : extras.read_all_bytes;
  const size_t held = whole + extras.unread.held_bytes();
  if (std::exchange(extras_->gathered_bytes, held) != held && carried_) HttpCarrier::of(*this).report_gathered(held);
}

// Answers 503, because the process is above the hard mark of its memory budget and must not hold more of the body.
void HttpExchange::refuse_body() {
  ++shard_->stats().over_budget;
  body_refused_ = true;
  HttpCarrier::of(*this).answer_instead(503);
}

void HttpExchange::deliver_piece(std::string_view piece) {
  HttpExtras& extras = *extras_;
  switch (body_consumer_) {
    case BodyConsumer::kPieces: return extras.on_piece(*this, piece);
    case BodyConsumer::kWhole:
      if (!extras.whole->add(piece)) return begun() ? abort() : refuse_body();
      return count_gathered();
    case BodyConsumer::kCoroutine:
      extras.unread.append(piece);
      if (extras.reader == nullptr) return count_gathered();
      return std::exchange(extras.reader, nullptr)->complete(0);
    case BodyConsumer::kNobody:
    case BodyConsumer::kDropped: return;
  }
}

void HttpExchange::deliver_body_end() {
  if (complete() || body_paused_ || end_delivered_) return;
  end_delivered_ = true;
  switch (body_consumer_) {
    case BodyConsumer::kPieces: return extras_->on_end(*this);
    case BodyConsumer::kWhole: {
      // `whole` keeps the text counted in the memory budget until the callback returns.
      detail::HttpGathered whole = std::move(*extras_->whole);
      extras_->whole.reset();
      count_gathered();
      return extras_->on_whole(*this, std::move(whole.text));
    }
    case BodyConsumer::kCoroutine:
      if (extras_->reader != nullptr) std::exchange(extras_->reader, nullptr)->complete(0);
      return;
    case BodyConsumer::kNobody:
    case BodyConsumer::kDropped: return;
  }
}

// True if read() can return without waiting.
bool HttpExchange::may_read() const {
  return !carried_ || request_read_ || body_consumer_ == BodyConsumer::kDropped ||
         (body_consumer_ == BodyConsumer::kCoroutine && !extras_->unread.empty());
}

Result<Buffer> HttpExchange::take_read() {
  if (body_consumer_ == BodyConsumer::kCoroutine && !extras_->unread.empty()) {
    Buffer taken = std::move(extras_->unread);
    count_gathered();
    if (carried_ && !request_read_) HttpCarrier::of(*this).advance();
    return taken;
  }
  if (!carried_ || body_consumer_ == BodyConsumer::kDropped) return fail(ECONNRESET);
  return Buffer();
}

bool detail::HttpBodyRead::await_ready() const { return exchange_.may_read(); }

Result<Buffer> detail::HttpBodyRead::await_resume() {
  if (why_ != 0) return failed(why_);
  return exchange_.take_read();
}

void detail::HttpBodyRead::enter() {
  HttpExtras& extras = exchange_.extras();
  PEAL_ASSERT(extras.reader == nullptr, "two coroutines read the body of exchange {}", exchange_.serial_);
  extras.reader = this;
  if (exchange_.body_consumer_ == HttpExchange::BodyConsumer::kNobody)
    exchange_.take_body(HttpExchange::BodyConsumer::kCoroutine);
}

void detail::HttpBodyRead::cancel(Why why) noexcept {
  exchange_.extras_->reader = nullptr;
  complete(why);
}

Task<Result<std::string>> HttpExchange::read_all() {
  detail::HttpGathered whole;
  for (;;) {
    Result<Buffer> piece = co_await read();
    const bool more = piece && !piece->empty();
    const bool fits = !more || whole.add(piece->view());
    if (has_extras_) {
      extras_->read_all_bytes = more && fits ? whole.charge.bytes() : 0;
      count_gathered();
    }
    if (!piece) co_return std::unexpected(piece.error());
    if (!more) co_return std::move(whole.text);
    if (fits) continue;
    if (carried_ && !begun()) refuse_body();
    co_return fail(ENOMEM);
  }
}

bool detail::HttpWritable::await_ready() const {
  const HttpCarrier& carrier = HttpCarrier::of(exchange_);
  return !exchange_.carried_ || !carrier.above_high_water() || !carrier.can_send();
}

void detail::HttpWritable::enter() {
  HttpExtras& extras = exchange_.extras();
  PEAL_ASSERT(extras.writer == nullptr, "two coroutines write the answer of exchange {}", exchange_.serial_);
  extras.writer = this;
}

Result<void> detail::HttpWritable::await_resume() const {
  if (why_ != 0) return failed(why_);
  if (!exchange_.carried_ || !HttpCarrier::of(exchange_).can_send()) return fail(ECONNRESET);
  return {};
}

void detail::HttpWritable::cancel(Why why) noexcept {
  exchange_.extras_->writer = nullptr;
  complete(why);
}

bool detail::HttpAnswered::await_ready() const {
  return exchange_.complete() || exchange_.abandoned() || exchange_.extras_->passed_on;
}

void detail::HttpAnswered::enter() {
  HttpExtras& extras = exchange_.extras();
  PEAL_ASSERT(extras.answered == nullptr, "two coroutines wait for the answer of exchange {}", exchange_.serial_);
  extras.answered = this;
}

void detail::HttpAnswered::cancel(Why why) noexcept {
  exchange_.extras_->answered = nullptr;
  complete(why);
}

void HttpExchange::run(Task<> task) {
  check_use();
  if (!carried_) return;
  if (extras().run) return pass_on(std::move(task));
  extras_->run = std::make_unique<HttpHandlerTask>(*this, std::move(task));
  detail::ReadyQueue::run(*extras_->run);
  if (carried_ && has_extras_ && extras_->run) HttpCarrier::of(*this).keep_peer();
}

// Passes the task to the coroutine that waits in HttpNext::run(). That coroutine then runs the task in its own chain of
// awaits.
void HttpExchange::pass_on(Task<> task) {
  if (!extras_->passes_on || extras_->passed_on) out_of_order("a second coroutine is started to answer it");
  extras_->passed_on.emplace(std::move(task));
  if (extras_->answered != nullptr) std::exchange(extras_->answered, nullptr)->complete(0);
}

detail::HttpHandlerTask::HttpHandlerTask(HttpExchange& exchange, Task<> task)
    : Strand(&exchange.loop()),
      exchange_(exchange),
      shard_(*exchange.shard_),
      task_(std::move(task)),
      core_(exchange.shard_->core().shared_from_this()) {
  shard_.runs().push_back(*this);
}

detail::HttpHandlerTask::~HttpHandlerTask() { shard_.runs().remove(*this); }

void detail::HttpHandlerTask::run() noexcept {
  auto& promise = task_.coroutine().promise();
  if (promise.strand() == nullptr) {
    promise.belong(*this, nullptr);
    return task_.coroutine().resume();
  }
  HttpExchange& exchange = exchange_;
  const std::shared_ptr<HttpCore> core = core_;
  const std::exception_ptr thrown = promise.thrown();
  std::unique_ptr<HttpHandlerTask> self = std::move(exchange.extras_->run);
  const bool carried = exchange.carried_;  // false if the answer was complete before, or the exchange was abandoned
  HttpCarrier& carrier = HttpCarrier::of(exchange);
  carrier.call([&] {
    self.reset();  // before the exchange ends: destructors of the frame's parameters may use the exchange
    if (thrown && (carried || exchange.complete())) std::rethrow_exception(thrown);
    HttpCarrier::task_ended(exchange);
  });
  if (carried) return carrier.advance();
  if (!carrier.in_call()) carrier.give_back();  // otherwise the caller gives it back, since `run` is null by then
}

}  // namespace peal
