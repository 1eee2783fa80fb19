// SPDX-License-Identifier: BSD-3-Clause
// How a fetch waits, reads its answer, follows redirects and ends. A callback of the user may end the fetch. So a
// function calls it last, or checks state_ or link_ after it. A local `keep` keeps the object alive until the function
// returns.
#include <peal/http/client/http_fetch.h>

#include <algorithm>
#include <cerrno>

#include <peal/base/assert.h>
#include <peal/http/client/parts/http_decoding.h>
#include <peal/http/client/parts/http_link.h>
#include <peal/http/client/parts/http_pool.h>
#include <peal/http/client/parts/http_redirect.h>
#include <peal/http/client/parts/http_retrying.h>

namespace peal {
namespace {

// The most bytes of an unwanted body that are read in order to keep the connection. If the body is longer, opening a
// new connection costs less than reading the rest.
constexpr uint64_t kMostDiscardedBytes = 64 * 1024;

}  // namespace

HttpFetch::HttpFetch(const std::shared_ptr<detail::HttpPool>& pool, HttpFetchId id, HttpClientRequest request,
                     HttpUrl url, std::unique_ptr<HttpFetchCallbacks> callbacks)
    : pool_(pool),
      id_(id),
      cookies_(pool->options().cookies),
      decodes_(request.decode.value_or(pool->options().decode)),
      has_proxies_(pool->proxies() != nullptr),
      request_(std::move(request)),
      url_(std::move(url)),
      callbacks_(std::move(callbacks)),
      expects_continue_(request_.expects_continue) {}

HttpFetch::~HttpFetch() = default;

void HttpFetch::begin(const HttpDeadlines& deadlines) {
  deadlines_ = deadlines;
  if (deadlines_.total <= Duration::zero()) return;
  total_timer_ = pool_.lock()->loop()->after(deadlines_.total, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->total_timed_out();
  });
}

void HttpFetch::set_phase_timer(Duration delay, void (HttpFetch::*then)()) {
  if (delay > Duration::zero()) return start_phase_timer(delay, then);
  pool_.lock()->loop()->cancel(std::exchange(phase_timer_, {}));
}

void HttpFetch::start_phase_timer(Duration delay, void (HttpFetch::*then)()) {
  Loop& loop = *pool_.lock()->loop();
  loop.cancel(std::exchange(phase_timer_, {}));
  phase_timer_ = loop.after(delay, [weak = weak_from_this(), then] {
    if (const auto self = weak.lock()) (self.get()->*then)();
  });
}

void HttpFetch::cancel_timers() {
  const auto pool = pool_.lock();
  Loop* const loop = pool ? pool->loop() : nullptr;
  if (loop == nullptr) return;
  loop->cancel(std::exchange(phase_timer_, {}));
  loop->cancel(std::exchange(total_timer_, {}));
  if (retrying_) loop->cancel(std::exchange(retrying_->attempt_timer, {}));
}

// ---- How a fetch waits for a connection.

void HttpFetch::wait_in_queue() {
  state_ = State::kWaiting;
  set_phase_timer(deadlines_.queue, &HttpFetch::queue_timed_out);
}

void HttpFetch::queue_timed_out() {
  if (pool_.lock()->is_being_connected(*this)) return wait_in_queue();  // connect_timeout is the deadline then
  give_up(make_error_code(HttpTrouble::kQueueTimeout));
}

void HttpFetch::fail_soon(std::error_code error) {
  state_ = State::kFailing;
  failure_ = error;
  call_soon(&HttpFetch::report_failure);
}

// Called inside write() and end_body(). They must not call on_done, so the loop calls on_done later.
void HttpFetch::refuse(std::error_code error) {
  const auto keep = shared_from_this();
  end_back_off();
  pool_.lock()->leave_queue(*this);
  fail_soon(error);
}

void HttpFetch::leave_link(bool reusable) {
  if (link_ == nullptr) return;
  count_gathered(0);
  pool_.lock()->release(*std::exchange(link_, nullptr), reusable);
}

// Tells the connection how many bytes of the answer fetch() has collected, so that the connection's memory figures
// include them.
void HttpFetch::count_gathered(size_t held_bytes) {
  if (held_bytes == gathered_ || link_ == nullptr) return;
  gathered_ = held_bytes;
  if (link_->is_open()) link_->connection().count_gathered(held_bytes);
}

// ---- How a fetch ends.

void HttpFetch::done(const Result<void>& how) {
  if (state_ == State::kOver) return;
  PEAL_ASSERT(state_ != State::kBackingOff, "request {} ends while the pool counts it as backing off",
              static_cast<uint64_t>(id_));
  state_ = State::kOver;
  cancel_timers();
  const auto keep = shared_from_this();
  const auto pool = pool_.lock();
  if (how) {
    ++pool->counters().answered;
  } else {
    ++pool->counters().failed;
  }
  pool->forget(*this);
  if (!callbacks_->on_done) return;
  // The exception is caught here because it would otherwise reach the connection and close it, although the connection
  // may carry another request by now.
  try {
    callbacks_->on_done(how);
  } catch (...) {
    pool->log_thrown();
  }
}

void HttpFetch::give_up(std::error_code error) {
  if (state_ == State::kOver) return;
  const auto keep = shared_from_this();
  leave_link(false);
  if (state_ == State::kFinishingRequest) return done({});
  end_back_off();
  pool_.lock()->leave_queue(*this);
  if (!back_off_after(error)) done(std::unexpected(error));
}

void HttpFetch::cancel() {
  if (state_ == State::kOver) return;
  const auto keep = shared_from_this();
  const auto pool = pool_.lock();
  end_back_off();
  state_ = State::kOver;
  cancel_timers();
  ++pool->counters().cancelled;
  leave_link(false);
  pool->leave_queue(*this);
  pool->forget(*this);
}

void HttpFetch::retire() {
  state_ = State::kOver;
  cancel_timers();
  link_ = nullptr;
}

// If `stale`, the server may have closed the connection before it saw the request. In that case the request is sent
// again, at most once, if sending it twice does no harm (RFC 9112 9.3.1).
void HttpFetch::connection_lost(std::error_code error, bool stale) {
  const auto keep = shared_from_this();
  link_ = nullptr;
  gathered_ = 0;
  if (state_ == State::kFinishingRequest) return done({});
  if (state_ == State::kTunnel) {
    if (!error || error == HttpTrouble::kClosedEarly) return done({});
    return done(std::unexpected(error));
  }
  if (!error) error = make_error_code(HttpTrouble::kClosedEarly);
  const bool has_body_still = !request_.streamed || body_sent_ == 0;
  const bool may_repeat = stale && !repeated_ && has_body_still && is_harmless_twice();
  if (!may_repeat || error == Trouble::kLoopStopped || state_ == State::kFailing) return give_up(error);
  repeated_ = true;
  ++pool_.lock()->counters().repeated;
  pool_.lock()->drop_idle(connection_key());
  pool_.lock()->enter_queue(keep, true);
}

// ---- How a fetch reads its answer.

HttpResponseParser& HttpFetch::parser() const { return link_->parser(); }

void HttpFetch::received(Buffer& input) {
  const auto keep = shared_from_this();
  if (state_ == State::kFinishingRequest) return give_up({});  // the answer is complete, these bytes belong to none
  const detail::HttpLink* const link = link_;
  const bool was_tunnel = state_ == State::kTunnel;
  while (state_ != State::kFailing && !input.empty() && !(paused_ && shows_body()) && !has_pending_body()) {
    input.consume(take(input.front()));
    if (link_ != link) return;
    if (state_ == State::kTunnel) {
      // The request has just become a tunnel, and bytes follow the head. If on_head has passed the connection to
      // pipe(), the pipe takes these bytes. Otherwise they are kept by a pause, and resume_reading() gives them to
      // on_body from the loop, before the peer's FIN is processed.
      if (was_tunnel) continue;
      if (input.empty() || paused_) return;
      link->connection().pause();
      return call_soon(&HttpFetch::resume_reading);
    }
    if (parser().error() != HttpParseError::kNone) return give_up(malformed_answer(parser().error()));
    if (parser().done()) return answer_complete(input.empty());
    if (state_ == State::kDiscarding && discarded_bytes_ > kMostDiscardedBytes) return answer_discarded(false);
  }
}

size_t HttpFetch::take(std::string_view bytes) {
  if (state_ == State::kAnswering) return take_head(bytes);
  if (state_ == State::kTunnel) {
    if (callbacks_->on_body) callbacks_->on_body(*this, bytes);
    return bytes.size();
  }
  if (decoding_) bytes = bytes.substr(0, detail::kMostCodedBytes);
  return parser().parse(bytes, [this](std::string_view piece) { return take_body(piece); });
}

// Calls on_writable if the rest of the body is not wanted and the application waits to write more.
void HttpFetch::report_body_unwanted() {
  if (!body_stopped_ || state_ == State::kOver || state_ == State::kFailing) return;
  early_.clear();
  call_on_writable();
}

void HttpFetch::resume_reading() {
  if (link_ != nullptr && !paused_) link_->connection().resume();
}

// Handles a piece of the answer's body. Returns false if the parser must stop parsing this answer for now.
bool HttpFetch::take_body(std::string_view piece) {
  if (state_ == State::kDiscarding) {
    discarded_bytes_ += piece.size();
    return true;
  }
  if (decoding_) return show_decoded(piece);
  if (callbacks_->on_body) callbacks_->on_body(*this, piece);
  return state_ == State::kBody && !paused_;
}

void HttpFetch::answer_complete(bool clean) {
  const auto keep = shared_from_this();
  if (state_ == State::kDiscarding) return answer_discarded(clean);
  if (decoding_ && !all_decoded(clean)) return;
  if (const std::string_view lines = parser().trailers(); !lines.empty() && callbacks_->on_trailers) {
    callbacks_->on_trailers(*this, lines);
    if (state_ != State::kBody) return;
  }
  if (!must_finish_request(clean)) {
    leave_link_in_order(clean);
    return done({});
  }
  state_ = State::kFinishingRequest;
  link_->connection().expect_input(false);
  link_->connection().resume();
}

// Returns true if the rest of the request's body must still be sent although the answer is complete. A server that
// keeps the connection open reads that rest. A streamed body is never finished in this way, since its length is not
// known.
bool HttpFetch::must_finish_request(bool clean) const {
  return clean && !request_complete_ && !request_.streamed && !body_stopped_ && parser().keep_alive() && !says_close_ &&
         link_->connection().can_send();
}

// Called when the last byte of the request's body was sent after the answer was complete.
void HttpFetch::request_finished() {
  const auto keep = shared_from_this();
  leave_link(true);
  done({});
}

void HttpFetch::leave_link_in_order(bool clean) {
  leave_link(clean && parser().keep_alive() && request_complete_ && !says_close_);
}

void HttpFetch::peer_ended() {
  if (state_ == State::kTunnel) return link_->connection().close();
  if (state_ == State::kFinishingRequest) return give_up({});
  if (parser().end()) return answer_complete(false);
  give_up(make_error_code(HttpTrouble::kClosedEarly));
}

// ---- How a fetch follows redirects.

bool HttpFetch::follows_redirect() const {
  if (!detail::is_redirect(head_.status()) || request_.most_redirects == 0 || !head_.find("Location")) return false;
  return !request_.streamed || detail::redirected_method(head_.status(), request_.method) != request_.method;
}

void HttpFetch::answer_discarded(bool clean) {
  if (!retrying_ || !retrying_->planned) return follow_redirect(clean);
  leave_link_in_order(clean);
  back_off();
}

void HttpFetch::follow_redirect(bool clean) {
  const auto keep = shared_from_this();
  leave_link_in_order(clean);
  if (redirects_ == request_.most_redirects) return give_up(make_error_code(HttpTrouble::kTooManyRedirects));
  auto next = url_.resolve(*head_.find("Location"));
  if (!next) return give_up(make_error_code(HttpTrouble::kBadRedirect));
  if (url_.is_https() && !next->is_https() && !pool_.lock()->options().plain_redirects) {
    return give_up(make_error_code(HttpTrouble::kPlainRedirect));
  }
  ++redirects_;
  ++pool_.lock()->counters().redirects;
  if (request_.streamed) body_ended_ = true;  // the next request has no body
  early_.clear();
  detail::redirect(request_, head_.status(), url_, *next);
  url_ = std::move(*next);
  repeated_ = false;
  discarded_bytes_ = 0;
  const Result<void> composed = compose();
  if (!composed) return give_up(composed.error());
  pool_.lock()->enter_queue(keep, false);
}

// ---- Functions that the application calls while the fetch is in progress.

// A paused fetch still reads heads, and bodies that the application does not get. The answer's head therefore arrives.
void HttpFetch::pause() {
  paused_ = true;
  if (link_ != nullptr && shows_body()) link_->connection().pause();
}

void HttpFetch::resume() {
  paused_ = false;
  if (has_pending_body()) return call_soon(&HttpFetch::show_pending);
  if (link_ != nullptr) link_->connection().resume();
}

Result<LayerFacts> HttpFetch::layer_facts() const {
  if (link_ == nullptr || !link_->is_open()) return fail(ENOTCONN);
  return link_->connection().layer_facts();
}

Connection* HttpFetch::tunnel() const {
  return state_ == State::kTunnel && link_ != nullptr ? &link_->connection() : nullptr;
}

}  // namespace peal
