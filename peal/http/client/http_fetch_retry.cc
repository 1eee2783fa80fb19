// SPDX-License-Identifier: BSD-3-Clause
// How a fetch is repeated by the rules of http_retry.h. An answer with a status in HttpRetry::statuses is discarded,
// and an error that may pass is not reported. After the back-off the request enters the pool's queue again, with the
// URL that redirects have led to.
#include <algorithm>
#include <array>
#include <utility>

#include <peal/base/assert.h>
#include <peal/http/client/http_fetch.h>
#include <peal/http/client/parts/http_decoding.h>
#include <peal/http/client/parts/http_pool.h>
#include <peal/http/client/parts/http_retrying.h>

namespace peal {

// Returns true if sending the request twice does no harm, according to its method (RFC 9110 9.2.2) or to
// HttpClientRequest::repeats.
bool HttpFetch::is_harmless_twice() const {
  constexpr std::array<std::string_view, 6> kMethods = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
  if (request_.repeats != HttpRepeats::kWhereHarmless) return request_.repeats == HttpRepeats::kAlways;
  return std::ranges::find(kMethods, request_.method) != kMethods.end();
}

void HttpFetch::begin_attempts(bool whole) {
  if (request_.streamed || request_.repeats == HttpRepeats::kNone) return;
  retrying_ = std::make_unique<detail::HttpRetrying>();
  retrying_->whole = whole;
  if (deadlines_.total > Duration::zero()) {
    retrying_->total_at = later(pool_.lock()->loop()->now(), deadlines_.total);
  }
  begin_attempt();
}

void HttpFetch::begin_attempt() {
  const auto pool = pool_.lock();
  const Duration timeout = pool->options().retry.attempt_timeout;
  if (timeout <= Duration::zero()) return;
  retrying_->attempt_timer = pool->loop()->after(timeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->attempt_timed_out();
  });
}

void HttpFetch::end_attempt() { pool_.lock()->loop()->cancel(std::exchange(retrying_->attempt_timer, {})); }

// Plans one more attempt and takes its cost from the retry budget. The attempt begins after at least `least`, the
// server's Retry-After. Returns false if a limit, a deadline or the budget forbids another attempt.
bool HttpFetch::plan_retry(Duration least) {
  const auto pool = pool_.lock();
  const HttpRetry& policy = pool->options().retry;
  if (retrying_->attempts >= policy.attempts || least > policy.longest_retry_after) return false;
  if (pool->waiting() >= pool->options().most_waiting) return false;
  const Duration delay = sum_of(least, pool->retry_budget().draw_delay(policy, retrying_->attempts + 1));
  if (later(pool->loop()->now(), delay) >= retrying_->total_at) return false;
  if (!pool->retry_budget().spend()) {
    ++pool->counters().unpaid;
    return false;
  }
  ++retrying_->attempts;
  retrying_->delay = delay;
  return true;
}

// Plans another attempt if the answer's status is one of HttpRetry::statuses. Returns false if none is planned, so that
// the application gets this answer.
bool HttpFetch::plan_retry_of_answer() {
  if (!retrying_ || !is_harmless_twice()) return false;
  const auto& statuses = pool_.lock()->options().retry.statuses;
  if (std::ranges::find(statuses, head_.status()) == statuses.end()) return false;
  retrying_->planned = plan_retry(detail::retry_after(head_).value_or(Duration::zero()));
  return retrying_->planned;
}

// Starts waiting for another attempt if HttpRetry repeats requests that fail with `error`, and returns true. Otherwise
// returns false. The request must have left its connection and the queue before.
bool HttpFetch::back_off_after(std::error_code error) {
  if (!retrying_ || state_ == State::kFailing || state_ == State::kTunnel) return false;
  if (error == HttpTrouble::kTotalTimeout || error == Trouble::kLoopStopped) return false;
  if (!std::exchange(retrying_->planned, false)) {
    if (state_ == State::kBody && !retrying_->whole) return false;
    if (state_ != State::kWaiting && !is_harmless_twice()) return false;
    if (!detail::may_pass(error, pool_.lock()->options().retry) || !plan_retry(Duration::zero())) return false;
  }
  back_off();
  return true;
}

void HttpFetch::back_off() {
  end_attempt();
  retrying_->planned = false;
  PEAL_ASSERT(state_ != State::kBackingOff, "request {} backs off twice", static_cast<uint64_t>(id_));
  state_ = State::kBackingOff;
  pool_.lock()->begin_back_off();
  decoding_.reset();
  discarded_bytes_ = 0;
  start_phase_timer(retrying_->delay, &HttpFetch::attempt_again);
}

// Ends the wait for the next attempt. Does nothing if this request does not wait for one. Must be called whenever the
// state kBackingOff is left, so that the pool's count stays right. Only HttpPool::retire() resets the count itself.
void HttpFetch::end_back_off() {
  if (state_ != State::kBackingOff) return;
  state_ = State::kWaiting;
  pool_.lock()->end_back_off();
}

void HttpFetch::attempt_again() {
  const auto pool = pool_.lock();
  ++pool->counters().retried;
  end_back_off();
  repeated_ = false;
  begin_attempt();
  const Result<void> composed = compose();
  if (!composed) return give_up(composed.error());
  pool->enter_queue(shared_from_this(), false);
}

}  // namespace peal
