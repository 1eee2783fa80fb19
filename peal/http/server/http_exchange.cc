// SPDX-License-Identifier: BSD-3-Clause
// The part of HttpExchange that answers. Its part for the request's body is in http_exchange_body.cc.
#include <peal/http/server/http_exchange.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/base/log.h>
#include <peal/http/server/parts/http_carrier.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_status.h>

namespace peal {

using detail::HttpAnswerHead;
using detail::HttpCarrier;
using detail::HttpExtras;

detail::HttpExchangeState::HttpExchangeState(detail::HttpShard& shard) : shard_(&shard) {}
detail::HttpExchangeState::~HttpExchangeState() = default;

HttpExchange::HttpExchange(detail::HttpShard& shard) : HttpExchangeState(shard) {}
HttpExchange::~HttpExchange() = default;

void HttpExchange::check_run() const {
  PEAL_ASSERT(has_extras_ && extras_->run != nullptr,
              "an HttpExchange& was kept beyond the call it was given to (it is exchange {} now): keep its handle()",
              serial_);
}

void detail::HttpExchangeState::reset_extras() { *extras_ = HttpExtras(); }

size_t HttpExchange::kept_bytes() const {
  return text_bytes() + head_.memory_bytes() + (extras_ != nullptr ? sizeof *extras_ : 0);
}

// Overwrites the text of the head with '~'. Code that has kept a view of the head for too long then reads a text that
// is obviously wrong.
void HttpExchange::overwrite_head() {
  if (head_room_ > 0) std::memset(head_text_.get(), '~', head_room_);
}

detail::HttpExtras& detail::HttpExchangeState::extras() {
  if (!extras_) extras_ = std::make_unique<HttpExtras>();
  has_extras_ = true;
  return *extras_;
}

std::string_view HttpExchange::parameter(std::string_view name) const {
  check_use();
  for (size_t i = 0; i < parameter_count_; ++i) {
    if (parameters_[i].name == name) return parameters_[i].value;
  }
  return {};
}

void HttpExchange::attach(const void* type, std::shared_ptr<void> value) {
  check_use();
  auto& all = extras().attached;
  std::erase_if(all, [&](const auto& each) { return each.first == type; });
  all.emplace_back(type, std::move(value));
}

void* HttpExchange::attached(const void* type) const {
  check_use();
  if (!has_extras_) return nullptr;
  for (const auto& [its_type, value] : extras_->attached) {
    if (its_type == type) return value.get();
  }
  return nullptr;
}

std::exception_ptr HttpExchange::thrown() const {
  check_use();
  return has_extras_ ? extras_->thrown : nullptr;
}

Loop& HttpExchange::loop() const { return shard_->loop(); }

bool HttpExchange::is_secure() const {
  check_use();
  return shard_->core().options().layer != nullptr;
}

Result<LayerFacts> HttpExchange::layer_facts() const {
  check_use();
  const Connection* const connection = living_connection();
  if (connection == nullptr) return fail(ENOTCONN);
  return connection->layer_facts();
}

// Returns the connection from the carrier while the exchange is carried. After the end of the exchange only a coroutine
// that still runs can ask for the connection; extras_->connection is a handle that was stored for this coroutine.
Connection* HttpExchange::living_connection() const {
  if (carried_) return &HttpCarrier::of(*this).underlying_connection();
  if (!has_extras_ || !extras_->connection) return nullptr;
  const auto found = std::make_shared<Connection*>(nullptr);
  extras_->connection.run([found](Connection& connection) { *found = &connection; });
  return *found;
}

Connection& HttpExchange::connection() const {
  check_use();
  Connection* const connection = living_connection();
  if (connection == nullptr) throw std::logic_error("the connection of an exchange is gone");
  return *connection;
}

Result<SocketAddress> HttpExchange::peer_address() const {
  check_use();
  return HttpCarrier::of(*this).known_peer();
}

HttpExchangeHandle HttpExchange::handle() {
  check_use();
  return carried_ ? HttpExchangeHandle(HttpCarrier::of(*this).underlying_connection().handle(), serial_)
                  : HttpExchangeHandle();
}

void HttpExchange::set_field(std::string_view name, std::string_view value) {
  if (!may_answer()) return;
  for (const std::string_view own : kServerFields) {
    if (same_field_name(name, own))
      throw_bad_value("the server itself sets the field {}: a handler must not set it", name);
  }
  texts_grew_ = true;
  std::string clean;
  if (!fields_.add(name, detail::sendable_value(value, clean))) throw_bad_value("'{}' is no name of a field", name);
}

void HttpExchange::drop_prepared() {
  fields_.drop_own();
  knows_length_ = false;
}

bool HttpExchange::answered_again() const {
  if (answer_ == Answer::kBegun && !carried_) return false;
  if (answer_ == Answer::kBegun) out_of_order("this call is allowed only before begin()");
  ++shard_->stats().answered_again;
  PEAL_LOG_ERROR("{} {} was already answered {}: a second answer of its handler is dropped", head_.method_text(),
                 head_.path(), status_);
  return false;
}

void HttpExchange::out_of_order(std::string_view what) const {
  throw std::logic_error(fmt::format("exchange {}, answer {}: {}", serial_, status_, what));
}

// Marks the answer as begun and returns its head. The properties of the head follow from the status and the request
// (RFC 9110 6.4.1, 8.6, 15).
HttpAnswerHead HttpExchange::answer_head(int status, std::string_view content_type, std::optional<uint64_t> length) {
  if (status < 200 || status > 599) throw_bad_value("{} is not a status of a final answer: 200 to 599 are", status);
  // The bytes after a 2xx answer to CONNECT are not HTTP, so the answer has neither content nor a length (RFC 9110
  // 9.3.6).
  const bool tunnel = head_.method() == HttpMethod::kConnect && status < 300;
  const bool no_content = status == 204 || tunnel;
  if (status == 205) length = 0;  // RFC 9110 15.3.6
  answer_ = Answer::kBegun;
  status_ = static_cast<uint16_t>(status);
  has_content_ = !no_content && status != 205 && status != 304 && head_.method() != HttpMethod::kHead;
  // An answer 304 states the length that an answer 200 would have, if the handler has set that length.
  const bool says_length = !no_content && (status != 304 || length.value_or(0) > 0);
  return {.content_type = content_type,
          .length = length,
          .status = status_,
          .says_length = says_length,
          .has_content = has_content_};
}

[[gnu::always_inline]] inline void HttpExchange::finish_with(int status) {
  answer_ = Answer::kComplete;
  if (detail::RouteMeter* const meter = shard_->meter()) [[unlikely]] {
    if (late_ || !meter->note(route_, static_cast<size_t>(status / 100), body_bytes_))
      shard_->note_answer(*this, status);
  } else {
    HttpStats& stats = shard_->stats();
    ++stats.answers[status / 100];
    stats.response_body_bytes += body_bytes_;
  }
  if (calls_ == 0) HttpCarrier::of(*this).advance();
}

void HttpExchange::respond(int status, std::string_view content_type, std::string_view body) {
  if (!may_answer()) return;
  const HttpMethod method = head_.method();
  if (status == 200 && method != HttpMethod::kHead && method != HttpMethod::kConnect) [[likely]] {
    status_ = 200;
    HttpCarrier::of(*this).send_ok(content_type, body);
    body_bytes_ = body.size();
    return finish_with(200);
  }
  respond_other(status, content_type, body);
}

void HttpExchange::respond_other(int status, std::string_view content_type, std::string_view body) {
  const HttpAnswerHead head = answer_head(status, content_type, body.size());
  if (!head.has_content) body = {};
  HttpCarrier::of(*this).send_answer(head, body);
  body_bytes_ = body.size();
  finish();
}

void HttpExchange::respond(int status, std::string_view content_type, Buffer&& body) {
  if (!may_answer()) return;
  HttpCarrier::of(*this).send_head(answer_head(status, content_type, body.size()));
  if (has_content_ && !body.empty()) {
    body_bytes_ = body.size();
    HttpCarrier::of(*this).send_piece(std::move(body));
  }
  HttpCarrier::of(*this).send_end();
  finish();
}

void HttpExchange::respond_moved(int status, std::string_view content_type, std::string&& body) {
  if (body.size() <= kLargeBlockBytes) return respond(status, content_type, std::string_view(body));
  Buffer moved;
  moved.append(share_bytes(std::move(body)));
  respond(status, content_type, std::move(moved));
}

void HttpExchange::respond(int status) {
  if (status >= 400 && status <= 599) return error_page(status);
  respond(status, {}, std::string_view());
}

void HttpExchange::respond_file(int status, std::string_view content_type, FileRange range) {
  if (!may_answer()) return;
  HttpCarrier::of(*this).send_head(answer_head(status, content_type, range.bytes));
  if (has_content_ && range.bytes > 0) {
    body_bytes_ = range.bytes;
    HttpCarrier::of(*this).send_piece(std::move(range));
  }
  HttpCarrier::of(*this).send_end();
  finish();
}

void HttpExchange::error_page(int status) {
  if (!may_answer()) return;
  auto& page = shard_->core().routes().error_page;
  if (!page || in_error_page_) return default_page(status);
  in_error_page_ = true;
  HttpCarrier::of(*this).call([&] { page(*this, status); });
  if (carried_ && !begun()) default_page(status);
  if (carried_) HttpCarrier::of(*this).advance();
}

void HttpExchange::default_page(int status) {
  const std::string_view reason = http_reason(status);
  const std::string text =
      fmt::format("<!doctype html><title>{0} {1}</title><h1>{0} {1}</h1>\n", status, reason.empty() ? "Error" : reason);
  respond(status, "text/html; charset=utf-8", std::string_view(text));
}

void HttpExchange::set_content_length(uint64_t bytes) {
  if (!may_answer()) return;
  knows_length_ = true;
  length_ = bytes;
}

void HttpExchange::begin(int status, std::string_view content_type) {
  if (!may_answer()) return;
  // If the client awaits 100 (Continue), the server sends 100 now. The handler may read the body while it answers, and
  // 100 cannot be sent after the head of the answer.
  if (continue_due_ && status < 300) HttpCarrier::of(*this).say_continue();
  HttpAnswerHead head = answer_head(status, content_type, knows_length_ ? std::optional(length_) : std::nullopt);
  head.in_pieces = true;
  HttpCarrier::of(*this).send_head(head);
  HttpCarrier::of(*this).flush();
}

// Called by write() and end() while no stream is in progress. Returns false if the exchange is complete or abandoned.
// Throws std::logic_error if begin() was not called.
bool HttpExchange::may_end() const {
  if (!may_answer()) return false;
  out_of_order("write() or end() was called before begin()");
}

// Counts `bytes` bytes of the answer's body and returns true if they may be sent. Otherwise counts nothing and returns
// false. Bytes beyond the declared length reset the exchange. Throws std::logic_error if begin() was not called.
bool HttpExchange::may_write(uint64_t bytes) {
  check_use();
  if (answer_ != Answer::kBegun && !may_end()) return false;
  if (!carried_) return false;
  if (bytes == 0 || !has_content_) return false;
  if (knows_length_ && bytes > length_ - body_bytes_) {
    PEAL_LOG_ERROR("{} more bytes are written to an answer of {} bytes that has {} already: it is reset", bytes,
                   length_, body_bytes_);
    abort();
    return false;
  }
  body_bytes_ += bytes;
  return true;
}

// Returns the result of a write() for which may_write() was false: true if the handler may write more now.
bool HttpExchange::may_write_on() const {
  return carried_ && !complete() && HttpCarrier::of(*this).can_send() && !HttpCarrier::of(*this).above_high_water();
}

bool HttpExchange::write(std::string_view bytes) {
  if (!may_write(bytes.size())) return may_write_on();
  HttpCarrier::of(*this).send_piece(bytes);
  return HttpCarrier::of(*this).flush();
}

bool HttpExchange::write(Buffer&& bytes) {
  Buffer taken(std::move(bytes));
  if (!may_write(taken.size())) return may_write_on();
  HttpCarrier::of(*this).send_piece(std::move(taken));
  return HttpCarrier::of(*this).flush();
}

void HttpExchange::write_file(FileRange range) {
  if (!may_write(range.bytes)) return;
  HttpCarrier::of(*this).send_piece(std::move(range));
  HttpCarrier::of(*this).flush();
}

void HttpExchange::end() {
  check_use();
  if ((answer_ != Answer::kBegun && !may_end()) || !carried_) return;
  if (knows_length_ && has_content_ && body_bytes_ < length_) {
    PEAL_LOG_ERROR("an answer of {} bytes ended after {}: it is reset", length_, body_bytes_);
    return abort();
  }
  HttpCarrier::of(*this).send_end();
  finish();
}

void HttpExchange::finish() { finish_with(status_); }

void HttpExchange::on_writable(HttpCallback on_writable) {
  check_use();
  if (carried_) extras().on_writable = std::move(on_writable);
}

void HttpExchange::on_abandoned(HttpCallback on_abandoned) {
  check_use();
  if (!carried_) return;
  extras().on_abandoned = std::move(on_abandoned);
  HttpCarrier::of(*this).keep_peer();
}

void HttpExchange::abort() {
  check_use();
  if (carried_) HttpCarrier::of(*this).send_reset();
}

}  // namespace peal
