// SPDX-License-Identifier: BSD-3-Clause
// Task<T>: a coroutine that begins when it is awaited or spawned, and that may be awaited once.
//
//   peal::Task<int> twice(int number) { co_return 2 * number; }
//   ... int four = co_await twice(2);
//
// A Task is move-only. Its coroutine frame is the only allocation, and is destroyed with the Task. T may be void or a
// reference. An exception that leaves the coroutine is thrown again where the task is awaited.
//
// Awaiting uses no stack: a loop may await any number of tasks, and a chain of tasks may be any number deep. With g++
// the latter holds only if sibling calls are optimised, as by -O2; -O0 does not.
//
// A task that has begun must not be destroyed before it has ended (asserted): cancel it, then await its end. Scope does
// both.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <peal/base/assert.h>
#include <peal/coro/await.h>

namespace peal {

template <class T>
class Task;

namespace detail {

// The part of a task's promise that does not depend on the type of the task's result.
class PromiseBase {
 public:
  static std::suspend_always initial_suspend() noexcept { return {}; }
  // The awaitable of final_suspend(), which a task awaits when it ends. If a coroutine awaits the task, that coroutine
  // is resumed. Otherwise the coroutine that Strand::on_done() returns is resumed.
  struct Final {
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    static std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) noexcept {
      PromiseBase& own = handle.promise();
      return own.awaiting_ ? own.awaiting_ : own.strand_->on_done();
    }
    static void await_resume() noexcept {}
  };
  static Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }
  // Returns the chain of awaits that the task belongs to; null if the task has not begun.
  Strand* strand() const { return strand_; }
  // Returns the exception that left the coroutine; null if there was none.
  const std::exception_ptr& thrown() const { return thrown_; }
  // Makes the task a part of the chain of awaits `strand`. Called before the task is resumed for the first time. When
  // the task ends, `awaiting` is resumed. A null `awaiting` means that the task is the outermost task of the chain, so
  // strand.on_done() is called instead.
  void belong(Strand& strand, std::coroutine_handle<> awaiting) {
    PEAL_ASSERT(strand_ == nullptr, "a task is awaited twice, by {}", awaiting.address());
    strand_ = &strand;
    awaiting_ = awaiting;
  }

 private:
  Strand* strand_ = nullptr;
  std::coroutine_handle<> awaiting_;
  std::exception_ptr thrown_;
};

template <class T>
struct PromiseOf : PromiseBase {
  Task<T> get_return_object() noexcept;
};

template <class T>
class Promise final : public PromiseOf<T> {
 public:
  template <class Value = T>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }
  // Returns the result of the task, or throws its exception. Called once, after the task has ended.
  T take() {
    if (this->thrown()) std::rethrow_exception(this->thrown());
    return static_cast<T&&>(*value_);
  }

 private:
  using Referred = std::reference_wrapper<std::remove_reference_t<T>>;
  std::optional<std::conditional_t<std::is_reference_v<T>, Referred, T>> value_;
};

template <>
class Promise<void> final : public PromiseOf<void> {
 public:
  void return_void() {}
  void take() {
    if (thrown()) std::rethrow_exception(thrown());
  }
};

template <class T, bool kShielded>
class TaskUntil;

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (!handle_) return;
    PEAL_ASSERT(handle_.promise().strand() == nullptr || handle_.done(), "a task is destroyed while it waits, at {}",
                handle_.address());
    handle_.destroy();
  }

  // Runs the task in the same chain of awaits (Strand) as the awaiting coroutine.
  auto operator co_await() && noexcept { return Await{handle_}; }
  // Gives the task a deadline: `co_await work().within(5s)`. When the deadline passes, the wait in which the task is
  // suspended fails with ETIMEDOUT. All later waits of the task fail with ETIMEDOUT, too. The await ends when the task
  // ends, and returns the task's result.
  detail::TaskUntil<T, false> within(Duration timeout) &&;

  // Returns the coroutine's handle. Used by library code that runs the task without co_await.
  Handle coroutine() const { return handle_; }

 private:
  friend detail::PromiseOf<T>;
  struct Await {
    static bool await_ready() noexcept { return false; }
    template <class Promise>
    Handle await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
      handle.promise().belong(*awaiting.promise().strand(), awaiting);
      return handle;
    }
    T await_resume() { return handle.promise().take(); }

    Handle handle;
  };
  explicit Task(Handle handle) noexcept : handle_(handle) {}

  Handle handle_;
};

namespace detail {

template <class T>
Task<T> PromiseOf<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(static_cast<Promise<T>&>(*this)));
}

// Runs a task with a deadline, in its own chain of awaits (Strand). When the deadline passes, that chain is cancelled.
// If `kShielded` is false, that chain is also cancelled when the awaiting coroutine is cancelled.
template <class T, bool kShielded>
class [[nodiscard]] TaskUntil final : public Wait, private Strand {
 public:
  TaskUntil(Task<T> task, Duration timeout) : Strand(nullptr), task_(std::move(task)) { set_timeout(timeout); }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) {
    loop_ = &awaiting.promise().strand()->loop();
    task_.coroutine().promise().belong(*this, nullptr);
    if constexpr (kShielded) {
      begin_shielded(awaiting);
    } else {
      begin_joining(awaiting);
    }
    return task_.coroutine();
  }
  T await_resume() { return task_.coroutine().promise().take(); }
  void cancel(Why why) noexcept override {
    if (!kShielded || !timed()) Strand::cancel(why);
  }

 private:
  std::coroutine_handle<> on_done() noexcept override { return end(); }

  Task<T> task_;
};

}  // namespace detail

template <class T>
detail::TaskUntil<T, false> Task<T>::within(Duration timeout) && {
  return {std::move(*this), timeout};
}

}  // namespace peal
