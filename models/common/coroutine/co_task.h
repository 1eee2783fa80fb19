// SPDX-License-Identifier: BSD-3-Clause
// CoTask<T>: the stackless coroutine of the models, written in plain C++20. A coroutine begins in one of two ways:
// - Another coroutine awaits it, at most once.
// - start() passes it to a loop, which owns the coroutine until it ends.
//
//   CoTask<void> serve(Fd connection);      co_await serve(std::move(connection));   or   serve(...).start(loop);
//
// While a coroutine waits, its only memory is its frame: it has no stack. A coroutine that ends passes control directly
// to the coroutine that awaits it (symmetric transfer). Therefore a chain of coroutines does not grow the stack. An
// exception that leaves a coroutine is thrown again in the coroutine that awaits it. If no coroutine awaits it, the
// exception is logged. Use a CoTask on one thread only.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include <models/common/coroutine/coroutine_loop.h>
#include <peal/base/log.h>

namespace peal::models {

class CoPromiseBase {
 public:
  CoPromiseBase() = default;
  CoPromiseBase(const CoPromiseBase&) = delete;
  CoPromiseBase& operator=(const CoPromiseBase&) = delete;

  static std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    static std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      CoPromiseBase& promise = self.promise();
      if (promise.awaiting_) return promise.awaiting_;
      CoroutineLoop& loop = *promise.loop_;
      self.destroy();  // no other code refers to the coroutine, so it destroys itself
      loop.ended();
      return std::noop_coroutine();
    }
    static void await_resume() noexcept {}
  };
  static Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept {
    thrown_ = std::current_exception();
    if (!awaiting_) log_thrown();
  }

  void await_by(std::coroutine_handle<> awaiting) { awaiting_ = awaiting; }
  void start(CoroutineLoop& loop, std::coroutine_handle<> self) {
    loop_ = &loop;
    beginning_.self = self;
    loop.begin(beginning_);
  }

 protected:
  ~CoPromiseBase() = default;
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  void log_thrown() const noexcept {
    try {
      rethrow();
    } catch (const std::exception& thrown) {
      PEAL_LOG_WARN("a coroutine ended with an uncaught exception: {}", thrown.what());
    }
  }

  class Beginning final : public Waiter {
   public:
    void resume() override { self.resume(); }
    std::coroutine_handle<> self;
  };

  std::coroutine_handle<> awaiting_;
  CoroutineLoop* loop_ = nullptr;
  Beginning beginning_;
  std::exception_ptr thrown_;
};

template <class T>
class CoTask;

template <class T>
class CoPromise final : public CoPromiseBase {
 public:
  CoTask<T> get_return_object();
  void return_value(T value) { value_.emplace(std::move(value)); }
  T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class CoPromise<void> final : public CoPromiseBase {
 public:
  CoTask<void> get_return_object();
  void return_void() {}
  void take() const { rethrow(); }
};

template <class T>
class [[nodiscard]] CoTask {
 public:
  using promise_type = CoPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit CoTask(Handle handle) : handle_(handle) {}
  CoTask(CoTask&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CoTask& operator=(CoTask&&) = delete;
  ~CoTask() {
    if (handle_) handle_.destroy();
  }

  struct Await {
    static bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
      handle.promise().await_by(awaiting);
      return handle;
    }
    T await_resume() { return handle.promise().take(); }

    Handle handle;
  };
  Await operator co_await() && noexcept { return Await{handle_}; }

  // Schedules the coroutine on `loop`, which starts the coroutine later. When the coroutine ends, it destroys its own
  // frame.
  void start(CoroutineLoop& loop) && {
    const Handle handle = std::exchange(handle_, nullptr);
    handle.promise().start(loop, handle);
  }

 private:
  Handle handle_;
};

template <class T>
CoTask<T> CoPromise<T>::get_return_object() {
  return CoTask<T>(std::coroutine_handle<CoPromise>::from_promise(*this));
}
inline CoTask<void> CoPromise<void>::get_return_object() {
  return CoTask<void>(std::coroutine_handle<CoPromise>::from_promise(*this));
}

}  // namespace peal::models
