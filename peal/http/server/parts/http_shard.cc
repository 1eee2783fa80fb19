// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/parts/http_shard.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

#include <peal/base/log.h>
#include <peal/http/server/http_handler.h>
#include <peal/http/server/parts/access_line.h>
#include <peal/http/server/parts/http1_session.h>
#include <peal/http/server/parts/http_core.h>
#include <peal/wire/content/http_date.h>
#include <peal/wire/http/http_field.h>
#include <peal/wire/http/http_status.h>

namespace peal::detail {

namespace {

// Largest number of free carriers that are kept for reuse. Up to this many connections can be busy at once without an
// allocation.
constexpr size_t kMostFree = 1024;

constexpr size_t kMostLogBytes = 32 * 1024;
constexpr size_t kMostKeptBytes = 4096;  // limit of the texts that a free carrier keeps

// Number of free exchanges that always stay unused: while no more are free, a new exchange is allocated. 0 unless
// PEAL_CATCH_KEPT is set. That option finds code that keeps an HttpExchange& for too long. A free exchange then stays
// unused for a while, with its head overwritten. Code that uses it stops the process, since no call of its handler is
// in progress.
constexpr size_t kResting = PEAL_RESTING_EXCHANGES;

std::array<Duration, HttpWaits::kKinds> waiting_times(const HttpServerOptions& options) {
  return {options.head_timeout, options.idle_timeout, options.body_window, options.answer_timeout, options.drain_grace};
}

// Returns the wall clock's time in nanoseconds since 1970.
int64_t wall_time() { return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

std::string_view sendable_value(std::string_view value, std::string& storage) {
  if (is_sendable({"x", value})) return value;
  storage = value;
  for (char& byte : storage) {
    if (static_cast<unsigned char>(byte) < ' ' || byte == '\x7f') byte = ' ';
  }
  return storage;
}

HttpShard::HttpShard(HttpCore& core, Loop& loop)
    : core_(core),
      routes_(&core.routes()),
      loop_(&loop),
      mailbox_(loop.mailbox()),
      deadlines_(waiting_times(core.options())) {
  if (core.options().access_log) meter_ = std::make_shared<RouteMeter>();
}

HttpShard::~HttpShard() {
  for (const Http1Carrier* carrier : carriers_) delete carrier;
}

Http1Carrier& HttpShard::acquire(Http1Session& session) {
  Http1Carrier* carrier = nullptr;
  if (kResting == 0 ? carriers_.empty() : carriers_.size() <= kResting) [[unlikely]] {
    carrier = new Http1Carrier(*this);
  } else if constexpr (kResting > 0) {
    carrier = carriers_.front();
    carriers_.erase(carriers_.begin());
  } else {
    carrier = carriers_.back();
    carriers_.pop_back();
  }
  carrier->open(session);
  return *carrier;
}

bool HttpShard::charge(Http1Carrier& carrier) {
  const size_t text_bytes = carrier.text_bytes() + carrier.memory_bytes();
  carrier.charge_.set(sizeof carrier + text_bytes);
  return text_bytes <= kMostKeptBytes;
}

void HttpShard::release(Http1Carrier& carrier) {
  HttpExchange& exchange = carrier;
  if (!core_.options().pooled || carriers_.size() >= kMostFree || (exchange.texts_grew_ && !charge(carrier)))
      [[unlikely]] {
    delete &carrier;
    return;
  }
  if constexpr (kResting > 0) exchange.overwrite_head();
  exchange.reset_for_reuse();
  carrier.reset_parser();
  carriers_.push_back(&carrier);
}

HttpStats HttpShard::snapshot() const {
  HttpStats stats = stats_;
  if (meter_) meter_->add_to(stats);
  for (Http1Carrier* carrier : carriers_) {
    stats.kept_bytes += sizeof *carrier + carrier->memory_bytes() + carrier->kept_bytes();
  }
  return stats;
}

std::unique_ptr<HttpServerSession> HttpShard::make_session(Connection& connection) {
  return std::make_unique<Http1Session>(*this, connection);
}

// Composes the lines with the date of the current second. They are valid until that second of the wall clock ends.
void HttpShard::make_date() {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = wall_time();
  date_until_ = later(loop_->now(), Duration(kSecond - now % kSecond));
  const auto text = format_http_date(now / kSecond);
  const std::string_view status = http_status_line(200);
  status_bytes_ = status.size();
  ok_head_.clear();
  ok_lines_.assign(status).append("Date: ").append(text.data(), text.size()).append("\r\n").append(core_.own_lines());
  if (!core_.options().access_log) return;
  log_second_ = now / kSecond;
  log_date_ = access_date(core_.options().access_log_format, log_second_);
}

void HttpShard::make_ok_head(std::string_view content_type) {
  ok_head_.assign(ok_lines());
  if (core_.options().says_keep_alive) ok_head_.append("Connection: keep-alive\r\n");
  if (!content_type.empty()) {
    std::string clean;
    ok_head_.append("Content-Type: ").append(sendable_value(content_type, clean)).append("\r\n");
  }
  ok_head_.append("Content-Length: ");
  ok_type_ = content_type;
}

void HttpShard::wait(HttpWaiter& waiter, HttpWait what) {
  deadlines_.enter(waiter, what, loop_->now());
  if (waiter.wait != HttpWait::kNothing && waiter.due < timer_due_) [[unlikely]]
    arm(waiter.due);
}

template <class Function>
auto HttpShard::while_alive(Function function) {
  return [core = core_.weak_from_this(), function = std::move(function)] {
    if (const auto alive = core.lock()) function();
  };
}

void HttpShard::arm(TimePoint due) {
  timer_due_ = due;
  if (timer_ && loop_->rearm(timer_, due)) return;
  timer_ = loop_->at(due, while_alive([this] { end_overdue_waits(); }));
}

void HttpShard::end_overdue_waits() {
  timer_ = {};
  timer_due_ = kNever;
  const TimePoint now = loop_->now();
  HttpWaiter* first = deadlines_.first();
  for (; first != nullptr && first->due <= now; first = deadlines_.first()) {
    const HttpWait what = first->wait;
    deadlines_.leave(*first);
    first->timed_out(what);
  }
  if (first != nullptr && first->due < timer_due_) arm(first->due);
}

void HttpShard::retire() {
  flush_log();
  stop_measuring();
  {
    const ReadyQueue::Hold hold;
    const Why why = mailbox_->open() ? ECANCELED : why_of(Trouble::kLoopStopped);
    for (HttpHandlerTask* run = runs_.front(); run != nullptr; run = run->next()) run->cancel(why);
  }
  ReadyQueue::run_all();
}

void HttpShard::when_drained(HttpExchange& exchange, HttpCallback on_drain) {
  if (exchange.connection().context<HttpServerSession>().drains()) return on_drain(exchange);
  exchange.extras().on_drain = std::move(on_drain);
  exchange.endless_ = true;
}

void HttpShard::report_drain(HttpCarrier& carrier) {
  HttpExchange& exchange = carrier;
  if (!exchange.has_extras_ || !exchange.extras_->on_drain) return;
  HttpCallback on_drain = std::exchange(exchange.extras_->on_drain, nullptr);
  carrier.call([&] { on_drain(exchange); });
  carrier.advance();
}

void HttpShard::note_tls_hello(const Connection& connection) {
  ++stats_.tls_hellos;
  const std::optional<uint64_t> held_back = tls_hello_log_.admit(loop_->now());
  if (!held_back) return;
  const auto text = [](const Result<SocketAddress>& address) { return address ? address->to_string() : "somebody"; };
  PEAL_LOG_WARN("{} speaks TLS to {}, a port without it, and is answered 400 without TLS ({} more like it)",
                text(connection.peer_address()), text(connection.local_address()), *held_back);
}

void HttpShard::measure_routes() {
  if (measures_ || retired_ || !mailbox_->open()) return;
  measures_ = true;
  meter_ = std::make_shared<RouteMeter>(*loop_, routes_->names().size(), core_.options().access_log != nullptr);
  loop_->add_turn_tally(meter_);
}

void HttpShard::stop_measuring() {
  retired_ = true;
  if (!measures_) return;
  if (mailbox_->reachable() != nullptr) loop_->remove_turn_tally(*meter_);
  meter_->leave_loop();
}

RouteFigures HttpShard::route_figures() {
  if (!measures_) return {};
  if (mailbox_->open() && !retired_) meter_->age(loop_->now());
  return meter_->figures(*routes_);
}

void HttpShard::note_answer(HttpExchange& exchange, int status) {
  const auto digit = static_cast<size_t>(status / 100);
  if (exchange.late_ && !exchange.endless_ &&
      meter_->note_late(exchange.route_, digit, exchange.body_bytes_, exchange.turn_began_)) {
    return;
  }
  note_slowly(exchange, status, digit);
}

// The meter tells nothing if it is only there for the access log.
void HttpShard::note_slowly(HttpExchange& exchange, int status, size_t digit) {
  if (core_.options().access_log) log(exchange, status);
  if (!measures_) {
    ++stats_.answers[digit];
    stats_.response_body_bytes += exchange.body_bytes_;
    return;
  }
  meter_->count(exchange.route_, digit, exchange.body_bytes_);
  if (exchange.endless_ || retired_) return;
  if (exchange.late_) {
    meter_->measure_late(exchange.route_, exchange.turn_began_);
  } else {
    meter_->measure_at_once(exchange.route_);
  }
  list_if_slow(exchange, status);
}

void HttpShard::note_abandoned(const HttpExchange& exchange, bool connected) {
  if (!measures_) return;
  meter_->count(exchange.route_, 0, 0);
  if (connected && !exchange.endless_ && !retired_) list_if_slow(exchange, 0);
}

void HttpShard::list_if_slow(const HttpExchange& exchange, int status) {
  const TimePoint began = exchange.late_ ? exchange.turn_began_ : loop_->turn_began();
  const auto span = meter_->slow_span(began, !exchange.late_);
  if (!span) return;
  constexpr size_t kMostTargetBytes = 256;
  SlowRequest request{.method = std::string(exchange.head_.method_text()),
                      .target = std::string(exchange.head_.target().substr(0, kMostTargetBytes)),
                      .status = status};
  if (exchange.route_ > 0) {
    const auto& name = routes_->names()[exchange.route_ - 1];
    request.route = name.pattern;
    request.route_method = name.method;
  }
  if (const auto peer = HttpCarrier::of(exchange).known_peer()) {
    request.client = peer->is_ip() ? peer->to_string() : "unix:";
  }
  meter_->list_at_end_of_turn(std::move(request), *span);
}

void HttpShard::log(HttpExchange& exchange, int status) {
  common_lines();
  // The log does not show the name of a unix socket, because the client chooses that name. "-" stands for a client
  // whose address the kernel has forgotten after a reset.
  const auto peer = HttpCarrier::of(exchange).known_peer();
  std::string client = peer ? "unix:" : "-";
  if (peer && peer->is_ip()) {
    client = peer->to_string();
    client.resize(client.rfind(':'));
  }
  AccessEntry entry{.client = client,
                    .date = log_date_,
                    .head = exchange.head_read_ ? &exchange.head_ : nullptr,
                    .status = status,
                    .body_bytes = exchange.body_bytes_,
                    .duration = std::nullopt,
                    .request_id = std::nullopt};
  if (core_.options().access_log_format == HttpAccessLogFormat::kJson) {
    if (const RequestId* id = exchange.attached<RequestId>()) entry.request_id = id->text;
    const TimePoint began = HttpCarrier::of(exchange).take_begin();
    if (began < loop_->now()) entry.duration = loop_->now() - began;
  }
  const size_t waiting = core_.log(entry, log_second_);
  if (waiting >= kMostLogBytes) return flush_log();
  if (!log_timer_) log_timer_ = loop_->after(std::chrono::seconds(1), while_alive([this] { flush_log(); }));
}

// Cancels the timer and writes the waiting lines. If the loop has ended, its timers have ended too, and the timer must
// not be cancelled.
void HttpShard::flush_log() {
  const TimerId timer = std::exchange(log_timer_, {});
  if (timer && mailbox_->open()) loop_->cancel(timer);
  core_.flush_log();
}

}  // namespace peal::detail
