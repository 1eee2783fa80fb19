// SPDX-License-Identifier: BSD-3-Clause
// HttpBodyRead and HttpWritable: what HttpExchange::read() and HttpExchange::writable() return, to be awaited by the
// coroutine that answers the exchange. The waiting coroutine owns them, and they belong to the exchange's loop.
#pragma once

#include <coroutine>

#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/coro/await.h>

namespace peal {
class HttpExchange;
}  // namespace peal

namespace peal::detail {

// HttpBodyRead: waits for a piece of the request's body (HttpExchange::read()). At most one coroutine may wait at a
// time.
class [[nodiscard]] HttpBodyRead final : public Awaitable<HttpBodyRead> {
 public:
  explicit HttpBodyRead(HttpExchange& exchange) : exchange_(exchange) {}
  bool await_ready() const;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!begin(handle)) return false;
    enter();
    return true;
  }

  // Returns the piece, which is empty at the end of the body. ECONNRESET: the connection was closed, or the rest of the
  // body is discarded.
  Result<Buffer> await_resume();
  void cancel(Why why) noexcept override;

 private:
  friend class peal::HttpExchange;
  friend class HttpCarrier;
  void enter();

  HttpExchange& exchange_;
};

// HttpWritable: waits until the output is below the high-water mark (HttpExchange::writable()). At most one coroutine
// may wait at a time.
class [[nodiscard]] HttpWritable final : public Awaitable<HttpWritable> {
 public:
  explicit HttpWritable(HttpExchange& exchange) : exchange_(exchange) {}
  bool await_ready() const;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!begin(handle)) return false;
    enter();
    return true;
  }

  // Returns success when more output may be written. ECONNRESET: the connection was closed, or the exchange has ended.
  Result<void> await_resume() const;
  void cancel(Why why) noexcept override;

 private:
  friend class HttpCarrier;
  void enter();

  HttpExchange& exchange_;
};

}  // namespace peal::detail
