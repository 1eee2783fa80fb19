// SPDX-License-Identifier: BSD-3-Clause
// HttpHandlerTask: a coroutine that answers an exchange, and the strand it runs in. HttpExtras: what only exchanges
// need that answer later, read a body or run a coroutine.
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

// Owned by its exchange, which lives until it has ended.
class HttpHandlerTask final : public Runnable, public Strand {
 public:
  HttpHandlerTask(HttpExchange& exchange, Task<> task);
  ~HttpHandlerTask();

  // Called when it is to begin, and again when it has ended, its frame being at rest.
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
  const std::shared_ptr<HttpCore> core_;  // so that the exchange and the shard live
  HttpHandlerTask* next_ = nullptr;
  HttpHandlerTask* prev_ = nullptr;
};

// A body that is wanted as a whole, so far.
struct HttpGathered {
  std::string text;
  MemoryCharge charge;  // for it

  // False where the process may not hold so much more.
  bool add(std::string_view piece) {
    text.append(piece);
    return charge.set_and_check(text.capacity());
  }
};

// Waits until the answer is complete, the client has gone, or the exchange is passed on to a coroutine. One coroutine
// at a time.
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

struct HttpExtras {
  Callback<void(HttpExchange&, std::string_view)> on_piece;
  HttpCallback on_end;
  Callback<void(HttpExchange&, std::string&&)> on_whole;
  HttpCallback on_writable;
  HttpCallback on_abandoned;
  HttpCallback on_drain;              // see HttpShard::when_drained()
  std::optional<HttpGathered> whole;  // read_body()'s; its memory goes with it
  std::optional<HttpForm> query;      // where some of it had to be decoded and was asked for
  Buffer unread;                      // came, and no coroutine has read it yet
  HttpBodyRead* reader = nullptr;
  HttpWritable* writer = nullptr;
  HttpAnswered* answered = nullptr;
  bool passes_on = false;  // a coroutine waits for what a function before the handler passes the exchange on to
  std::optional<Task<>> passed_on;    // which is this, and has not begun
  std::exception_ptr thrown;          // what the answer is 500 for
  size_t gathered_bytes = 0;          // of the body, as HttpCarrier::count_gathered() was told
  size_t read_all_bytes = 0;          // of that, in a coroutine that is in read_all()
  std::optional<SocketAddress> peer;  // once somebody may ask who it was when the connection is gone
  ConnectionHandle connection;        // of a coroutine that goes on behind its answer
  std::vector<std::pair<const void*, std::shared_ptr<void>>> attached;
  std::unique_ptr<HttpHandlerTask> run;
};

}  // namespace peal::detail
