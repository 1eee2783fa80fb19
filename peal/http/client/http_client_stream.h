// SPDX-License-Identifier: BSD-3-Clause
// HttpClient for coroutines: HttpFetchAwait is what co_await client.fetch(request) awaits. HttpClientStream is a
// request whose body and answer are sent and read in pieces.
//
//   peal::HttpClientStream stream = client.open(request);        // begins at once
//   co_await stream.write(std::move(bytes));                      // only if the request's body is streamed
//   stream.end_body();
//   auto head = co_await stream.head();                           // Result<const HttpResponseHead*>
//   for (;;) {
//     peal::Result<peal::Buffer> piece = co_await stream.read();  // an empty Buffer: the body has ended
//     if (!piece || piece->empty()) break;
//   }
//
// Everything here is used on the client's loop only. The awaits have deadlines and can be cancelled, as await.h
// describes. Cancelling a fetch closes the connection that carries the request. Destroying a stream before its answer
// is complete does the same.
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

// Awaits a whole answer; co_await returns Result<HttpResponse>. Fails with the errors of HttpClient::fetch(), with
// ECANCELED if the await is cancelled, and with ETIMEDOUT if the await's own deadline passes.
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

// State that an HttpClientStream shares with the callbacks of its fetch and with the awaits.
struct HttpStreamState {
  enum Waiter : uint8_t { kHead, kRead, kWrite };

  // Returns the fetch, or null if it has ended.
  HttpFetch* fetch() const;
  bool is_over() const { return over.has_value(); }
  // Resumes the coroutine that waits for the head, for a read or for a write, as `which` says. Does nothing if none
  // waits.
  void wake(Waiter which) noexcept;
  // Stores the result with which the stream has ended, and resumes all coroutines that wait for the stream.
  void end(const Result<void>& how) noexcept;

  std::weak_ptr<HttpPool> pool;
  HttpFetchId id = HttpFetchId::kNone;
  HttpResponseHead head;
  std::string trailers;
  // Bytes of the body that read() has not returned yet.
  Buffer input;
  // True if the fetch is paused because `input` is full; the next read() resumes it.
  bool paused = false;
  // The result with which the stream has ended; nullopt while the stream is in progress.
  std::optional<Result<void>> over;
  HttpStreamWait* waiters[3] = {};
};

// The base class of the awaits of head(), read() and write(). At most one coroutine at a time may await each of these
// three functions.
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
  // Ends the wait and resumes its coroutine. Called by HttpStreamState::wake().
  void woken() noexcept { complete(0); }

 protected:
  ~HttpStreamWait() = default;
  // Stores this wait in the HttpStreamState. If the fetch was paused because its bytes were not read, resumes it.
  void register_waiter();
  // Returns the error with which the stream ended; if it ended without an error, ECONNRESET.
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
  // Passes the bytes to the fetch at once, so they are sent even if the wait is cancelled or times out.
  bool await_ready();
  Result<void> await_resume() const;

 private:
  Buffer bytes_;
};

}  // namespace detail

// One request and its answer in pieces; the top of this file shows an example. Destroying a stream ends its request.
class HttpClientStream {
 public:
  // Begins the request. If HttpClient::start() fails, every await of this stream fails with that error.
  HttpClientStream(HttpClient& client, HttpClientRequest request);
  HttpClientStream(HttpClientStream&&) noexcept = default;
  HttpClientStream& operator=(HttpClientStream&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~HttpClientStream() { cancel(); }

  // Awaits the head of the answer; co_await returns Result<const HttpResponseHead*>. The head is valid as long as the
  // stream.
  detail::HttpHeadWait head() { return detail::HttpHeadWait(state_); }

  // Awaits a piece of the body; co_await returns Result<Buffer>. The Buffer is empty only if the body has ended. While
  // 64 KiB that have arrived are not read, the connection receives no more, so that the server has to wait.
  detail::HttpReadWait read() { return detail::HttpReadWait(state_); }

  // Sends a piece of a streamed body, or bytes into a tunnel, and waits until more may be written. Fails with EPIPE if
  // an answer has arrived and the rest of the body is not wanted (HttpFetch::refuses_body()).
  detail::HttpWriteWait write(std::string_view bytes) { return {state_, Buffer(bytes)}; }
  detail::HttpWriteWait write(Buffer&& bytes) { return {state_, std::move(bytes)}; }

  // Ends a streamed body, as HttpFetch::end_body() does. Has no effect if the request has ended.
  void end_body();
  // Ends a streamed body with trailers, as HttpFetch::end_body() does. Also returns false if the request has ended.
  [[nodiscard]] bool end_body(std::span<const HttpField> trailers);

  // Returns the lines of the trailers, in the form that HttpFetchCallbacks::on_trailers describes. May be called after
  // read() has returned an empty Buffer. The lines are valid as long as the stream.
  std::string_view trailers() const { return state_->trailers; }

  // Ends the request and closes its connection. Awaits in progress and later awaits fail with ECANCELED. However,
  // head() and read() still return a head or bytes that have arrived before. Has no effect if the request has ended.
  void cancel();

 private:
  std::shared_ptr<detail::HttpStreamState> state_;
};

}  // namespace peal
