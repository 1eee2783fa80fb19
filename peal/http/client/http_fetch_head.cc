// SPDX-License-Identifier: BSD-3-Clause
// How a fetch reads the heads of its answer: first interim ones (RFC 9110 15.2), then the final one. The final head
// decides whether the request's body is sent and whether the answer is shown, skipped or a tunnel.
#include <utility>

#include <peal/http/client/http_cookie_jar.h>
#include <peal/http/client/http_fetch.h>
#include <peal/http/client/parts/http_answer_text.h>
#include <peal/http/client/parts/http_decoding.h>
#include <peal/http/client/parts/http_link.h>
#include <peal/http/client/parts/http_pool.h>
#include <peal/http/client/parts/http_retrying.h>

namespace peal {
namespace {

constexpr Duration kLongestDiscard =
    std::chrono::seconds(1);  // the longest time that is spent on reading an unwanted body

}  // namespace

// Passes one head at a time to the parser. The text of each head can thus be kept, and interim heads can be passed to
// on_interim.
size_t HttpFetch::take_head(std::string_view bytes) {
  if (head_text_.empty()) link_->connection().expect_input(true);
  const size_t size = detail::head_bytes(head_text_, bytes);
  const bool whole = size > 0;
  bytes = bytes.substr(0, whole ? size : bytes.size());
  parser().parse(bytes);
  head_text_ += bytes;
  const bool begun = !detail::begins_interim(head_text_);
  if (std::exchange(answer_begun_, begun) != begun) first_byte_seen(begun);
  if (state_ != State::kAnswering) return bytes.size();
  if (whole && parser().head_complete()) {
    head_complete();
  } else if (whole && parser().error() == HttpParseError::kNone) {
    interim_head_complete();
  }
  return bytes.size();
}

// Called when the first bytes of a head have arrived. `begun` is true unless the head is known to be that of an
// interim answer; the timer of HttpDeadlines::first_byte is then cancelled. If the head is that of an interim answer,
// the timer keeps its due time.
void HttpFetch::first_byte_seen(bool begun) {
  if (awaits_continue_) return;
  if (begun) return set_phase_timer({}, nullptr);
  if (request_complete_) await_first_byte();
}

void HttpFetch::await_first_byte() {
  if (first_byte_due_ == kNever) return;
  const Duration left = first_byte_due_ - pool_.lock()->loop()->now();
  if (left <= Duration::zero()) return first_byte_timed_out();
  start_phase_timer(left, &HttpFetch::first_byte_timed_out);
}

void HttpFetch::interim_head_complete() {
  const HttpResponseHead head(std::exchange(head_text_, {}));
  link_->connection().expect_input(false);
  if (head.status() == 100 && awaits_continue_) send_held_body();
  if (callbacks_->on_interim) callbacks_->on_interim(*this, head);
}

void HttpFetch::head_complete() {
  head_ = HttpResponseHead(std::exchange(head_text_, {}));
  const int status = head_.status();
  if (cookies_ != nullptr) cookies_->take(url_, head_);
  if (status == 101 || (request_.method == "CONNECT" && status / 100 == 2)) return become_tunnel();
  if (awaits_continue_) set_phase_timer({}, nullptr);
  // 417 means that the server does not accept Expect. The request is sent again without that field (RFC 9110 10.1.1).
  if (status == 417 && awaits_continue_ && body_sent_ == 0) {
    expects_continue_ = false;
    leave_link(false);
    const Result<void> composed = compose();
    if (!composed) return give_up(composed.error());
    return pool_.lock()->enter_queue(shared_from_this(), true);
  }
  // The request fails because the application would otherwise take the bytes of the unknown transfer coding for the
  // body.
  if (parser().has_other_coding() && !parser().done()) return give_up(malformed_answer(HttpParseError::kUnknownCoding));
  state_ = plan_retry_of_answer() || follows_redirect() ? State::kDiscarding : State::kBody;
  if (!request_complete_ && (status >= 300 || (awaits_continue_ && !parser().keep_alive()))) body_stopped_ = true;
  if (state_ != State::kBody) {
    set_phase_timer(kLongestDiscard, &HttpFetch::discard_timed_out);
    return report_body_unwanted();
  }
  if (retrying_ && !retrying_->whole) end_attempt();
  if (decodes_) begin_decoding();
  // The server has sent a final answer without asking for the body. It keeps the connection open, so it will read the
  // body (RFC 9110 10.1.1).
  if (awaits_continue_ && !body_stopped_) send_held_body();
  if (paused_) link_->connection().pause();
  if (callbacks_->on_head) callbacks_->on_head(*this, head_);
  report_body_unwanted();
}

void HttpFetch::become_tunnel() {
  if (!request_.may_upgrade) return give_up(make_error_code(HttpTrouble::kUnaskedUpgrade));
  state_ = State::kTunnel;
  cancel_timers();
  link_->connection().expect_input(false);
  if (paused_) link_->connection().pause();
  if (callbacks_->on_head) callbacks_->on_head(*this, head_);
}

}  // namespace peal
