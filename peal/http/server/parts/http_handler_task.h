// SPDX-License-Identifier: BSD-3-Clause
// HttpHandlerTask: a coroutine that answers an exchange, and its chain of awaits (Strand). HttpExtras: state of the
// exchanges that answer later, read a body or run a coroutine.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/memory/memory_charge.h>
#include <peal/coro/await.h>
#include <peal/coro/task.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/forms/http_form.h>

namespace peal::detail {

class HttpCore;

// HttpHandlerTask: the coroutine that answers an exchange. The exchange owns this object, and is not reused before the
// coroutine has ended.
class HttpHandlerTask final : public Runnable, public Strand {
 public:
  HttpHandlerTask(HttpExchange& exchange, Task<> task);
  ~HttpHandlerTask();

  // Called twice: first to begin the coroutine, then when the coroutine has ended and its frame may be destroyed.
  void run() noexcept override;

  std::coroutine_handle<> on_done() noexcept override {
    ReadyQueue::run(*this);
    return std::noop_coroutine();
  }

  HttpHandlerTask* next() const { return next_; }

 private:
  friend class WaitList<HttpHandlerTask>;
  HttpExchange& exchange_;
  HttpShard& shard_;
  Task<> task_;
  const std::shared_ptr<HttpCore> core_;  // keeps the exchange and the shard alive
  HttpHandlerTask* next_ = nullptr;
  HttpHandlerTask* prev_ = nullptr;
};

// HttpGathered: the part of a body that has arrived so far, for a handler that wants the whole body.
struct HttpGathered {
  std::string text;
  MemoryCharge charge;  // counts the memory of `text` in the memory budget

  // Appends a piece. Returns false if the process is then above the hard mark of its memory budget.
  bool add(std::string_view piece) {
    text.append(piece);
    return charge.set_and_check(text.capacity());
  }
};

// HttpAnswered: waits until the answer is complete, the client has left, or the exchange is passed on to another
// coroutine. At most one coroutine may wait at a time.
class [[nodiscard]] HttpAnswered final : public Wait {
 public:
  explicit HttpAnswered(HttpExchange& exchange) : exchange_(exchange) {}
  bool await_ready() const;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!begin(handle)) return false;
    enter();
    return true;
  }
  void await_resume() const {}
  void cancel(Why why) noexcept override;

 private:
  friend class HttpCarrier;
  friend class peal::HttpExchange;
  void enter();

  HttpExchange& exchange_;
};

// HttpExtras: the callbacks and values that functions of HttpExchange have stored, and the waits of the coroutine that
// answers.
struct HttpExtras {
  Callback<void(HttpExchange&, std::string_view)> on_piece;
  HttpCallback on_end;
  Callback<void(HttpExchange&, std::string&&)> on_whole;
  HttpCallback on_writable;
  HttpCallback on_abandoned;
  HttpCallback on_drain;              // see HttpShard::when_drained()
  std::optional<HttpGathered> whole;  // the body for read_body(); its memory is freed with it
  std::optional<HttpForm> query;      // the decoded query, if it was asked for and needed decoding
  Buffer unread;                      // pieces of the body that the coroutine has not read yet
  HttpBodyRead* reader = nullptr;
  HttpWritable* writer = nullptr;
  HttpAnswered* answered = nullptr;
  bool passes_on = false;             // true while a coroutine waits for a function that may call pass_on()
  std::optional<Task<>> passed_on;    // the coroutine that was passed on, before it has begun
  std::exception_ptr thrown;          // the exception that is answered 500
  size_t gathered_bytes = 0;          // bytes of the body last reported by HttpCarrier::report_gathered()
  size_t read_all_bytes = 0;          // the part of gathered_bytes that read_all() holds
  std::optional<SocketAddress> peer;  // the client's address, for use after the connection has closed
  ConnectionHandle connection;        // the connection, for a coroutine that continues after its answer
  std::vector<std::pair<const void*, std::shared_ptr<void>>> attached;
  std::unique_ptr<HttpHandlerTask> run;
};

}  // namespace peal::detail
