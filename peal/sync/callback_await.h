// SPDX-License-Identifier: BSD-3-Clause
// callback_await(): makes an awaitable of an API that calls back.
//
//   auto start = [&](peal::Completion<Row> done) { database.query(text, std::move(done)); };
//   peal::Result<Row> row = co_await peal::callback_await<Row>(start);
//
// The await calls `start` with a Completion. Calling done(value) or done.fail(error) ends the await, even inside
// `start`. If the API can cancel its work, pass a second function that does so:
//
//   co_await peal::callback_await<Row>(start, [&] { database.cancel(text); }).within(5s)
//
// The second function is called when the await is cancelled or its deadline has passed. The await then ends without the
// completion, and later calls of the completion do nothing. So when the second function returns, the API must no longer
// use anything in the coroutine's frame. If the API cannot promise that, put the await into a shield().
//
// Both functions are borrowed until the await ends.
#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <peal/coro/task.h>
#include <peal/loop/loop.h>

namespace peal {

namespace detail {

template <class T>
class CallbackWait;

// Connects a Completion with the wait that it ends. The wait may have ended before the Completion is called.
template <class T>
struct CallbackLink {
  const std::shared_ptr<Mailbox> mailbox;
  CallbackWait<T>* wait;  // null after the wait has ended; used by the loop's thread only
};

}  // namespace detail

// A function object that ends one wait of callback_await(). Only the first call has an effect, and only if the wait has
// not ended. A Completion is move-only; an API that copies its callbacks needs a std::shared_ptr<Completion>. Any
// thread may call a Completion, but not two threads at the same time. A call on a thread other than the loop's posts
// the result to the loop. If a Completion is destroyed without having been called, the wait fails with EOWNERDEAD.
template <class T = void>
class Completion {
 public:
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  Completion(Completion&&) noexcept = default;
  Completion& operator=(Completion&& other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  ~Completion() {
    if (link_) fail(errno_code(EOWNERDEAD));
  }

  // Ends the wait with `value`. A Completion<void> is called without an argument.
  void operator()(Value value)
    requires(!std::is_void_v<T>)
  {
    answer(Result<Value>(std::move(value)));
  }
  void operator()()
    requires std::is_void_v<T>
  {
    answer(Result<Value>(Value()));
  }
  // Ends the wait: the await fails with `error`.
  void fail(std::error_code error) { answer(std::unexpected(error)); }

 private:
  friend class detail::CallbackWait<T>;
  explicit Completion(std::shared_ptr<detail::CallbackLink<T>> link) : link_(std::move(link)) {}
  void answer(Result<Value> value) {
    const auto link = std::move(link_);
    link_ = nullptr;
    if (!link) return;
    if (link->mailbox->here() != nullptr) return detail::CallbackWait<T>::arrive(*link, std::move(value));
    link->mailbox->insist(
        [link, value = std::move(value)]() mutable { detail::CallbackWait<T>::arrive(*link, std::move(value)); });
  }

  std::shared_ptr<detail::CallbackLink<T>> link_;
};

namespace detail {

// The part of callback_await()'s awaitable that does not depend on the types of the functions `start` and `cancel`.
template <class T>
class CallbackWait : public Wait {
 public:
  // Ends the wait that `link` refers to, with `value` as its result. Does nothing if that wait has ended. Called on the
  // loop's thread.
  static void arrive(CallbackLink<T>& link, Result<typename Completion<T>::Value> value) {
    if (CallbackWait* wait = std::exchange(link.wait, nullptr)) wait->arrived(std::move(value));
  }
  Result<T> await_resume() {
    if (!answer_) return failed(this->why_);
    if (!*answer_) return std::unexpected(answer_->error());
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::move(**answer_);
    }
  }

 protected:
  CallbackWait() = default;
  ~CallbackWait() = default;

  // Makes the Completion that is given to `start`.
  Completion<T> completion() {
    link_ = std::make_shared<CallbackLink<T>>(strand().loop().mailbox(), this);
    return Completion<T>(link_);
  }
  // Disconnects the Completion from this wait: later calls of the Completion do nothing.
  void detach() { link_->wait = nullptr; }
  // True if the Completion was called.
  bool has_answer() const { return answer_.has_value(); }
  bool starting_ = true;  // true until `start` has returned: the wait must not be completed inside `start`

 private:
  void arrived(Result<typename Completion<T>::Value> value) {
    answer_.emplace(std::move(value));
    if (!starting_) complete(0);
  }

  std::shared_ptr<CallbackLink<T>> link_;
  std::optional<Result<typename Completion<T>::Value>> answer_;
};

// The default `cancel` function of callback_await(), which does nothing.
struct NoCancel {
  void operator()() const {}
};

template <class T, class Start, class Cancel>
class [[nodiscard]] CallbackAwait final : public Awaitable<CallbackAwait<T, Start, Cancel>, CallbackWait<T>> {
 public:
  CallbackAwait(Start& start, Cancel& cancel) : start_(start), cancel_(cancel) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!this->begin(handle)) return false;
    try {
      start_(this->completion());
    } catch (...) {
      this->detach();
      this->end();
      throw;
    }
    this->starting_ = false;
    if (this->has_answer()) return this->refuse(0);
    return cancelled_ == 0 || this->refuse(cancelled_);
  }
  void cancel(Why why) noexcept override {
    if (this->has_answer()) return;  // `start` has called the completion and then cancelled this coroutine
    this->detach();
    cancel_();
    if (this->starting_) {
      cancelled_ = why;
    } else {
      this->complete(why);
    }
  }

 private:
  Start& start_;
  Cancel& cancel_;
  Why cancelled_ = 0;  // the reason if `start` itself has cancelled this coroutine; 0 otherwise
};

}  // namespace detail

// Returns an awaitable that calls `start` and waits until the Completion is called. The await returns Result<T>: the
// value or the error that was given to the Completion. An exception of `start` is thrown by the co_await expression. An
// exception of `cancel` ends the process.
template <class T = void, class Start, class Cancel = const detail::NoCancel>
auto callback_await(Start&& start, Cancel&& cancel = {}) {
  static_assert(detail::kMayStandInAwait<Start> && detail::kMayStandInAwait<Cancel>,
                "a function that owns something must be a variable declared before the co_await: g++ 12 destroys a "
                "temporary one twice");
  return detail::CallbackAwait<T, std::remove_reference_t<Start>, std::remove_reference_t<Cancel>>(start, cancel);
}

}  // namespace peal
