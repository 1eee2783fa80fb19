// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/client/http_client_stream.h>

#include <cerrno>

#include <peal/base/assert.h>
#include <peal/http/client/http_client.h>
#include <peal/http/client/parts/http_pool.h>

namespace peal {
namespace {

constexpr size_t kMostReadAheadBytes = 64 * 1024;  // the same as Stream's

}  // namespace

// ---- HttpFetchAwait: a whole answer.

bool HttpFetchAwait::start() {
  const Result<HttpFetchId> id = client_.fetch(std::move(request_), [this](Result<HttpResponse> answer) {
    answer_ = std::move(answer);
    complete(0);
  });
  if (id) {
    id_ = *id;
    return true;
  }
  answer_ = std::unexpected(id.error());
  end();
  return false;
}

Result<HttpResponse> HttpFetchAwait::await_resume() {
  if (why_ != 0) return detail::failed(why_);
  return std::move(*answer_);
}

void HttpFetchAwait::cancel(detail::Why why) noexcept {
  client_.cancel(id_);
  complete(why);
}

// ---- HttpClientStream: a request and its answer in pieces.

namespace detail {

HttpFetch* HttpStreamState::fetch() const {
  const auto its_pool = pool.lock();
  return its_pool ? its_pool->find(id) : nullptr;
}

void HttpStreamState::wake(Waiter which) noexcept {
  if (HttpStreamWait* waiter = std::exchange(waiters[which], nullptr)) waiter->woken();
}

void HttpStreamState::end(const Result<void>& how) noexcept {
  over = how;
  const ReadyQueue::Hold hold;
  for (const Waiter which : {kHead, kRead, kWrite}) wake(which);
}

void HttpStreamWait::register_waiter() {
  PEAL_ASSERT(state_->waiters[which_] == nullptr,
              "two coroutines await head(), or read(), or write() of request {} at the same time",
              static_cast<uint64_t>(state_->id));
  state_->waiters[which_] = this;
  if (which_ != HttpStreamState::kRead || !std::exchange(state_->paused, false)) return;
  if (HttpFetch* fetch = state_->fetch()) fetch->resume();
}

void HttpStreamWait::cancel(Why why) noexcept {
  state_->waiters[which_] = nullptr;
  complete(why);
}

std::unexpected<std::error_code> HttpStreamWait::failure() const {
  return std::unexpected(*state_->over ? errno_code(ECONNRESET) : state_->over->error());
}

Result<const HttpResponseHead*> HttpHeadWait::await_resume() const {
  if (why_ != 0) return failed(why_);
  if (state_->head.status() == 0) return failure();
  return &state_->head;
}

Result<Buffer> HttpReadWait::await_resume() {
  if (why_ != 0) return failed(why_);
  if (state_->input.empty() && !*state_->over) return failure();
  return std::move(state_->input);
}

bool HttpWriteWait::await_ready() {
  if (state_->is_over()) return true;
  HttpFetch* const fetch = state_->fetch();
  if (fetch == nullptr) return true;
  return fetch->write(std::move(bytes_));
}

Result<void> HttpWriteWait::await_resume() const {
  if (why_ != 0) return failed(why_);
  if (state_->is_over()) return failure();
  const HttpFetch* const fetch = state_->fetch();
  if (fetch != nullptr && fetch->refuses_body()) return fail(EPIPE);
  return {};
}

}  // namespace detail

HttpClientStream::HttpClientStream(HttpClient& client, HttpClientRequest request)
    : state_(std::make_shared<detail::HttpStreamState>()) {
  state_->pool = client.pool_;
  HttpFetchCallbacks callbacks;
  callbacks.on_head = [state = state_](HttpFetch&, const HttpResponseHead& head) {
    state->head = head;
    state->wake(detail::HttpStreamState::kHead);
  };
  callbacks.on_body = [state = state_](HttpFetch& fetch, std::string_view bytes) {
    state->input.append(bytes);
    if (state->input.size() >= kMostReadAheadBytes) {
      state->paused = true;
      fetch.pause();
    }
    state->wake(detail::HttpStreamState::kRead);
  };
  callbacks.on_writable = [state = state_](HttpFetch&) { state->wake(detail::HttpStreamState::kWrite); };
  callbacks.on_trailers = [state = state_](HttpFetch&, std::string_view lines) { state->trailers = lines; };
  callbacks.on_done = [state = state_](const Result<void>& how) { state->end(how); };
  const Result<HttpFetchId> id = client.start(std::move(request), std::move(callbacks));
  if (id) {
    state_->id = *id;
  } else {
    state_->over = std::unexpected(id.error());
  }
}

void HttpClientStream::end_body() {
  if (HttpFetch* fetch = state_->fetch()) fetch->end_body();
}

bool HttpClientStream::end_body(std::span<const HttpField> trailers) {
  HttpFetch* const fetch = state_->fetch();
  return fetch != nullptr && fetch->end_body(trailers);
}

void HttpClientStream::cancel() {
  if (!state_ || state_->is_over()) return;
  const auto state = state_;
  if (HttpFetch* fetch = state->fetch()) fetch->cancel();
  state->end(fail(ECANCELED));
}

}  // namespace peal
