// SPDX-License-Identifier: BSD-3-Clause
// HttpClient for coroutines: co_await client.fetch(request), and HttpClientStream, a request and its answer in pieces.
//
//   peal::HttpClientStream stream = client.open(request);        // begins at once
//   co_await stream.write(bytes); stream.end_body();              // where the request is streamed
//   auto head = co_await stream.head();                           // Result<const HttpResponseHead*>
//   for (;;) {
//     peal::Result<peal::Buffer> piece = co_await stream.read();  // empty: the end
//     ...
//
// All on the client's loop. Awaits have deadlines and are cancelled as everywhere (await.h); a fetch that is cancelled
// closes the connection that carried it, and so does destroying a stream whose answer is not complete.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <peal/base/memory/buffer.h>
#include <peal/coro/task.h>
#include <peal/http/client/http_client_request.h>
#include <peal/http/client/http_fetch.h>

namespace peal {

class HttpClient;

// The whole answer: Result<HttpResponse>, with the errors of HttpClient::fetch(), ECANCELED and ETIMEDOUT.
class [[nodiscard]] HttpFetchAwait final : public detail::Awaitable<HttpFetchAwait> {
 public:
  HttpFetchAwait(HttpClient& client, HttpClientRequest request) : client_(client), request_(std::move(request)) {}
  static bool await_ready() { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return begin(handle) && start();
  }
  Result<HttpResponse> await_resume();
  void cancel(detail::Why why) noexcept override;

 private:
  bool start();

  HttpClient& client_;
  HttpClientRequest request_;
  HttpFetchId id_ = HttpFetchId::kNone;
  std::optional<Result<HttpResponse>> answer_;
};

namespace detail {

class HttpStreamWait;

// What a stream and the callbacks of its fetch share.
struct HttpStreamState {
  enum Waiter : uint8_t { kHead, kRead, kWrite };

  HttpFetch* fetch() const;
  bool is_over() const { return over.has_value(); }
  void wake(Waiter which) noexcept;
  void end(const Result<void>& how) noexcept;

  std::weak_ptr<HttpPool> pool;
  HttpFetchId id = HttpFetchId::kNone;
  HttpResponseHead head;
  std::string trailers;
  Buffer input;
  bool paused = false;
  std::optional<Result<void>> over;
  HttpStreamWait* waiters[3] = {};
};

// One coroutine at a time in each of the three.
class HttpStreamWait : public Wait {
 public:
  HttpStreamWait(std::shared_ptr<HttpStreamState> state, HttpStreamState::Waiter which)
      : state_(std::move(state)), which_(which) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!begin(handle)) return false;
    register_waiter();
    return true;
  }
  void cancel(Why why) noexcept override;
  void woken() noexcept { complete(0); }

 protected:
  ~HttpStreamWait() = default;
  void register_waiter();
  // Why the stream is over; where it ended in order, ECONNRESET.
  std::unexpected<std::error_code> failure() const;

  const std::shared_ptr<HttpStreamState> state_;

 private:
  const HttpStreamState::Waiter which_;
};

class [[nodiscard]] HttpHeadWait final : public HttpStreamWait {
 public:
  explicit HttpHeadWait(std::shared_ptr<HttpStreamState> state) : HttpStreamWait(std::move(state), Waiter::kHead) {}
  ByReference<HttpHeadWait> within(Duration timeout) && {
    set_timeout(timeout);
    return {*this};
  }
  bool await_ready() const { return state_->head.status() != 0 || state_->is_over(); }
  Result<const HttpResponseHead*> await_resume() const;

 private:
  using Waiter = HttpStreamState::Waiter;
};

class [[nodiscard]] HttpReadWait final : public HttpStreamWait {
 public:
  explicit HttpReadWait(std::shared_ptr<HttpStreamState> state)
      : HttpStreamWait(std::move(state), HttpStreamState::kRead) {}
  ByReference<HttpReadWait> within(Duration timeout) && {
    set_timeout(timeout);
    return {*this};
  }
  bool await_ready() const { return !state_->input.empty() || state_->is_over(); }
  Result<Buffer> await_resume();
};

class [[nodiscard]] HttpWriteWait final : public HttpStreamWait {
 public:
  HttpWriteWait(std::shared_ptr<HttpStreamState> state, Buffer bytes)
      : HttpStreamWait(std::move(state), HttpStreamState::kWrite), bytes_(std::move(bytes)) {}
  ByReference<HttpWriteWait> within(Duration timeout) && {
    set_timeout(timeout);
    return {*this};
  }
  // Given to the fetch at once, whatever becomes of the wait.
  bool await_ready();
  Result<void> await_resume() const;

 private:
  Buffer bytes_;
};

}  // namespace detail

class HttpClientStream {
 public:
  HttpClientStream(HttpClient& client, HttpClientRequest request);
  HttpClientStream(HttpClientStream&&) noexcept = default;
  HttpClientStream& operator=(HttpClientStream&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~HttpClientStream() { cancel(); }

  // The head of the answer; good as long as the stream.
  detail::HttpHeadWait head() { return detail::HttpHeadWait(state_); }
  // Some of the body, at least a byte; an empty Buffer at its end. Not read, the server waits.
  detail::HttpReadWait read() { return detail::HttpReadWait(state_); }
  // A piece of a streamed body, or of what a tunnel carries: done when there is room for more. EPIPE: an answer has
  // come that ends the body (http_fetch.h).
  detail::HttpWriteWait write(std::string_view bytes) { return {state_, Buffer(bytes)}; }
  detail::HttpWriteWait write(Buffer&& bytes) { return {state_, std::move(bytes)}; }
  void end_body();
  // As HttpFetch's; false too once the stream is over.
  [[nodiscard]] bool end_body(std::span<const HttpField> trailers);
  // Once read() has told the end: the trailers, as HttpFetchCallbacks::on_trailers has them. Good as long as the
  // stream.
  std::string_view trailers() const { return state_->trailers; }
  // Later awaits, and those of other coroutines, fail with ECANCELED.
  void cancel();

 private:
  std::shared_ptr<detail::HttpStreamState> state_;
};

}  // namespace peal
