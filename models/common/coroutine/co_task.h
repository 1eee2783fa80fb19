// SPDX-License-Identifier: BSD-3-Clause
// CoTask<T>: the stackless coroutine of the models, made of C++20's parts and nothing else. It begins when it is
// awaited, once, by another; or when it is started on a loop, which it then belongs to until it ends.
//
//   CoTask<void> serve(Fd connection);      co_await serve(std::move(connection));   or   serve(...).start(loop);
//
// Its frame is its only memory; no stack is kept while it waits. Ending goes straight over to who awaits (symmetric
// transfer), so a chain of them needs no stack either. An exception that leaves it is thrown again where it is awaited,
// and logged where nobody awaits. One thread.
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
      self.destroy();  // nobody else has it
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
      PEAL_LOG_WARN("a coroutine ended by an exception: {}", thrown.what());
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

  // It begins when its turn on the loop comes, and destroys itself when it has ended.
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
