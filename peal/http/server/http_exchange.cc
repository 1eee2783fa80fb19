// SPDX-License-Identifier: BSD-3-Clause
// The answer of an exchange; its request's body is in http_exchange_body.cc.
#include <peal/http/server/http_exchange.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/base/log.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/http/server/parts/server_session.h>
#include <peal/wire/http/http_chunk_writer.h>
#include <peal/wire/http/http_response_writer.h>
#include <peal/wire/http/http_status.h>

namespace peal {

using detail::HttpExtras;
using detail::HttpSession;

namespace {

constexpr std::string_view kCloseLine = "Connection: close\r\n";
constexpr std::string_view kKeepAliveLine = "Connection: keep-alive\r\n";  // HTTP/1.0 expects to be told
constexpr std::string_view kUpgradeLine = "Connection: Upgrade\r\n";
constexpr std::string_view kUpgradeOrCloseLine = "Connection: Upgrade, close\r\n";
// A body up to here is composed in one piece with its head.
constexpr size_t kLittleBody = 4096;
constexpr size_t kFirstHeadBytes = 512;

void put_type(HttpResponseWriter& head, std::string_view type) {
  std::string clean;
  head.lines("Content-Type: ");
  head.lines(detail::sendable_value(type, clean));
  head.lines("\r\n");
}

}  // namespace

HttpExchange::HttpExchange(detail::HttpShard& shard) : shard_(&shard), parser_(shard.core().options().limits) {}
HttpExchange::~HttpExchange() = default;

void HttpExchange::check_run() const {
  PEAL_ASSERT(has_extras_ && extras_->run != nullptr,
              "an HttpExchange& was kept beyond the call it was given to (it is exchange {} now): keep its handle()",
              serial_);
}

void HttpExchange::reset_rest() {
  if (!parser_.is_idle()) parser_ = HttpRequestParser(shard_->core().options().limits);
  if (has_extras_) *extras_ = HttpExtras();
}

size_t HttpExchange::kept_bytes() const {
  return sizeof *this + text_bytes() + head_.memory_bytes() + (extras_ != nullptr ? sizeof *extras_ : 0);
}

// The head outlives the input that it was read from.
void HttpExchange::keep_head() {
  const std::string_view text = head_.text();
  if (text.size() > head_room_) [[unlikely]] {
    texts_grew_ = true;
    head_room_ = std::max(2 * head_room_, std::max<size_t>(text.size(), kFirstHeadBytes));
    head_text_ = std::make_unique_for_overwrite<char[]>(head_room_);
  }
  std::memcpy(head_text_.get(), text.data(), text.size());
  head_.relocate(head_text_.get());
}

// For who has kept a view of it.
void HttpExchange::overwrite_head() {
  if (head_room_ > 0) std::memset(head_text_.get(), '~', head_room_);
}

detail::HttpExtras& HttpExchange::extras() {
  has_extras_ = true;
  if (!extras_) extras_ = std::make_unique<HttpExtras>();
  return *extras_;
}

std::string_view HttpExchange::parameter(std::string_view name) const {
  check_use();
  for (size_t i = 0; i < parameter_count_; ++i) {
    if (parameters_[i].name == name) return parameters_[i].value;
  }
  return {};
}

Loop& HttpExchange::loop() const { return shard_->loop(); }

Connection& HttpExchange::connection() const {
  check_use();
  if (session_ == nullptr) throw std::logic_error("the connection of an exchange is gone");
  return session_->connection();
}

HttpExchangeHandle HttpExchange::handle() {
  check_use();
  return session_ == nullptr ? HttpExchangeHandle() : HttpExchangeHandle(session_->connection().handle(), serial_);
}

void HttpExchange::set_field(std::string_view name, std::string_view value) {
  check_use();
  if (abandoned()) return;
  PEAL_ASSERT(!begun(), "the field {} is set after the head of the answer has gone out", name);
  for (const std::string_view own : {"Content-Length", "Transfer-Encoding", "Connection", "Date"}) {
    if (same_field_name(name, own)) throw_bad_value("the field {} is the server's to set", name);
  }
  texts_grew_ = true;
  std::string clean;
  if (!append_http_field(field_lines_, name, detail::sendable_value(value, clean))) {
    throw_bad_value("'{}' is no name of a field", name);
  }
  if (same_field_name(name, "Upgrade")) offers_upgrade_ = true;  // which Connection says too (RFC 9110 7.8)
}

// Whether there is anybody to answer.
bool HttpExchange::may_answer() const {
  check_use();
  if (taken_) return false;
  PEAL_ASSERT(answer_ != Answer::kComplete, "exchange {} is answered again", serial_);
  return session_ != nullptr;
}

// Not when the client was promised an end, and not when more of the body would have to be read than that is worth.
[[gnu::always_inline]] inline bool HttpExchange::keeps_connection() const {
  if (wants_close_ || !head_read_ || !head_.keep_alive() || session_->must_close()) return false;
  if (request_read_) return true;
  if (continue_due_) return false;  // nobody knows whether the body will be sent
  if (body_consumer_ != BodyConsumer::kNobody || !head_.content_length()) return true;
  return *head_.content_length() <= shard_->core().options().drain_limit_bytes;
}

// Composes the head, and behind it as much of `body` as is known: all or nothing.
void HttpExchange::put_head(int status, std::string_view content_type, std::optional<uint64_t> length,
                            std::string_view body) {
  PEAL_ASSERT(!begun(), "exchange {} is answered {} where it cannot be", serial_, status);
  if (status < 200 || status > 599) throw_bad_value("{} is no status of an answer", status);
  answer_ = Answer::kBegun;
  status_ = static_cast<uint16_t>(status);
  // What follows a 2xx to CONNECT is no HTTP any more, so there is nothing to have a length (RFC 9110 8.6, 9.3.6).
  const bool tunnel = head_.method() == HttpMethod::kConnect && status < 300;
  const bool bodiless = status == 204 || status == 304 || tunnel;
  keeps_ = keeps_connection();
  coding_ = Coding::kLength;
  if (!length) coding_ = head_.minor_version() >= 1 || bodiless ? Coding::kChunked : Coding::kClose;
  if (coding_ == Coding::kClose) keeps_ = false;
  const bool ok = status == 200;
  const std::string_view common = ok ? shard_->ok_lines() : shard_->common_lines();
  const size_t room = HttpResponseWriter::kStatusBytes + common.size() + field_lines_.size() +
                      HttpResponseWriter::field_bytes("Content-Type", content_type) +
                      HttpResponseWriter::kContentLengthBytes + kUpgradeOrCloseLine.size() +
                      HttpResponseWriter::kEndBytes;
  Buffer& output = session_->output();
  const size_t wanted = room + body.size();
  HttpResponseWriter head(
      output.prepare(shard_->expects_more ? std::max<size_t>(wanted, kSmallBlockBytes + 1) : wanted));
  if (!ok) head.status(status);
  head.lines(common);
  if (!content_type.empty()) put_type(head, content_type);
  if (!field_lines_.empty()) head.lines(field_lines_);
  // With 304 the length would be that of 200 (RFC 9110 8.6), which is known where it was set.
  if (status != 204 && !tunnel && (status != 304 || length.value_or(0) > 0)) {
    if (length) {
      head.content_length(*length);
    } else if (coding_ == Coding::kChunked) {
      head.chunked();
    }
  }
  if (offers_upgrade_) {
    head.lines(keeps_ ? kUpgradeLine : kUpgradeOrCloseLine);
  } else if (!keeps_) {
    head.lines(kCloseLine);
  } else if (head_.minor_version() == 0 || shard_->core().options().says_keep_alive) {
    head.lines(kKeepAliveLine);
  }
  head.end();
  if (bodiless || head_.method() == HttpMethod::kHead) {
    coding_ = Coding::kNoBody;
  } else if (!body.empty()) {
    head.lines(body);
    body_bytes_ = body.size();
  }
  output.commit(head.size());
  length_ = length.value_or(0);
}

// What most answers are: 200, a length, nothing else to be said.
[[gnu::always_inline]] inline void HttpExchange::put_plain(std::string_view content_type, std::string_view body) {
  PEAL_ASSERT(!begun(), "exchange {} is answered where it cannot be", serial_);
  status_ = 200;
  keeps_ = true;
  const std::string_view begin = shard_->ok_head(content_type);
  Buffer& output = session_->output();
  const size_t wanted =
      begin.size() + HttpResponseWriter::kLengthBytes + 2 * HttpResponseWriter::kEndBytes + body.size();
  HttpResponseWriter head(
      output.prepare(shard_->expects_more ? std::max<size_t>(wanted, kSmallBlockBytes + 1) : wanted));
  head.lines(begin);
  head.number(body.size());
  head.lines("\r\n\r\n");
  if (head_.method() == HttpMethod::kHead) {
    coding_ = Coding::kNoBody;
  } else {
    head.body(body);
    body_bytes_ = body.size();
  }
  output.commit(head.size());
}

// Whether put_plain() says all there is to say of an answer with this status and so long a body.
[[gnu::always_inline]] inline bool HttpExchange::is_plain(int status, size_t body_bytes) const {
  return status == 200 && body_bytes <= kLittleBody && field_lines_.empty() && head_.minor_version() >= 1 &&
         keeps_connection();
}

void HttpExchange::respond(int status, std::string_view content_type, std::string_view body) {
  if (!may_answer()) return;
  if (is_plain(status, body.size())) [[likely]] {
    put_plain(content_type, body);
    return finish();
  }
  const bool little = body.size() <= kLittleBody;
  put_head(status, content_type, body.size(), little ? body : std::string_view());
  if (!little && coding_ != Coding::kNoBody) {
    session_->output().append(body);
    body_bytes_ = body.size();
  }
  finish();
}

void HttpExchange::respond(int status, std::string_view content_type, Buffer&& body) {
  if (!may_answer()) return;
  put_head(status, content_type, body.size(), {});
  if (coding_ != Coding::kNoBody) {
    body_bytes_ = body.size();
    session_->output().append(std::move(body));
  }
  finish();
}

void HttpExchange::respond_file(int status, std::string_view content_type, FileRange range) {
  if (!may_answer()) return;
  put_head(status, content_type, range.bytes, {});
  if (coding_ != Coding::kNoBody && range.bytes > 0) {
    body_bytes_ = range.bytes;
    session_->send_file(std::move(range));
  }
  finish();
}

void HttpExchange::respond_error(int status) {
  if (!may_answer()) return;
  auto& page = shard_->core().routes().error_page;
  if (!page || paging_) return default_page(status);
  paging_ = true;
  HttpSession::call(*this, [&] { page(*this, status); });
  if (session_ != nullptr && !begun()) default_page(status);
  if (session_ != nullptr) session_->settle();
}

void HttpExchange::default_page(int status) {
  const std::string_view reason = http_reason(status);
  const std::string text =
      fmt::format("<!doctype html><title>{0} {1}</title><h1>{0} {1}</h1>\n", status, reason.empty() ? "Error" : reason);
  respond(status, "text/html; charset=utf-8", text);
}

void HttpExchange::set_content_length(uint64_t bytes) {
  check_use();
  if (abandoned()) return;
  PEAL_ASSERT(!begun(), "the length of an answer, {} bytes, comes after its head", bytes);
  knows_length_ = true;
  length_ = bytes;
}

void HttpExchange::begin(int status, std::string_view content_type) {
  if (!may_answer()) return;
  put_head(status, content_type, knows_length_ ? std::optional(length_) : std::nullopt, {});
  written();
}

bool HttpExchange::written() { return session_->put_done(); }

// Counts what is to be written; false where nothing of it goes out.
bool HttpExchange::put_chunk_size(uint64_t bytes) {
  check_use();
  if (session_ == nullptr) return false;
  PEAL_ASSERT(answer_ == Answer::kBegun, "{} bytes are written outside of an answer", bytes);
  if (bytes == 0 || coding_ == Coding::kNoBody) return false;
  if (coding_ == Coding::kLength && bytes > length_ - body_bytes_) {
    PEAL_LOG_ERROR("{} more bytes of an answer of {}, of which {} are written", bytes, length_, body_bytes_);
    return abort(), false;
  }
  body_bytes_ += bytes;
  if (coding_ != Coding::kChunked) return true;
  std::array<char, kMostHttpChunkHeadBytes> size{};
  session_->output().append(std::string_view(size.data(), write_http_chunk_head(size, bytes)));
  return true;
}

// Nothing was written: whether more would be taken now.
bool HttpExchange::may_write_on() const {
  return session_ != nullptr && session_->is_open() && !session_->above_high_water();
}

bool HttpExchange::write(std::string_view bytes) {
  if (!put_chunk_size(bytes.size())) return may_write_on();
  Buffer& output = session_->output();
  output.append(bytes);
  if (coding_ == Coding::kChunked) output.append(kHttpChunkEnd);
  return written();
}

bool HttpExchange::write(Buffer&& bytes) {
  Buffer taken(std::move(bytes));
  if (!put_chunk_size(taken.size())) return may_write_on();
  Buffer& output = session_->output();
  output.append(std::move(taken));
  if (coding_ == Coding::kChunked) output.append(kHttpChunkEnd);
  return written();
}

void HttpExchange::write_file(FileRange range) {
  if (!put_chunk_size(range.bytes)) return;
  session_->send_file(std::move(range));
  if (coding_ == Coding::kChunked) session_->output().append(kHttpChunkEnd);
  written();
}

void HttpExchange::end() {
  check_use();
  if (session_ == nullptr) return;
  PEAL_ASSERT(answer_ == Answer::kBegun, "exchange {} ends an answer that it has not begun", serial_);
  if (coding_ == Coding::kLength && body_bytes_ < length_) {
    PEAL_LOG_ERROR("an answer of {} bytes ended after {}", length_, body_bytes_);
    return abort();
  }
  if (coding_ == Coding::kChunked) session_->output().append(kHttpLastChunk);
  finish();
}

void HttpExchange::finish() {
  answer_ = Answer::kComplete;
  HttpStats& stats = shard_->stats();
  ++stats.answers[status_ / 100];
  stats.response_body_bytes += body_bytes_;
  if (shard_->core().options().access_log) [[unlikely]]
    shard_->log(*this, session_->connection());
  session_->put_done();
  if (calls_ == 0) session_->settle();
}

void HttpExchange::on_writable(HttpCallback on_writable) {
  check_use();
  if (session_ != nullptr) extras().on_writable = std::move(on_writable);
}

void HttpExchange::on_abandoned(HttpCallback on_abandoned) {
  check_use();
  if (session_ != nullptr) extras().on_abandoned = std::move(on_abandoned);
}

void HttpExchange::abort() {
  check_use();
  if (session_ != nullptr) session_->connection().abort();
}

}  // namespace peal
