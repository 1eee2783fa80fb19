// SPDX-License-Identifier: BSD-3-Clause
// callback_await(): makes an awaitable of an API that calls back.
//
//   auto start = [&](peal::Completion<Row> done) { database.query(text, std::move(done)); };
//   peal::Result<Row> row = co_await peal::callback_await<Row>(start);
//
// `start` is called once the task has suspended in all but name, with what ends the wait: done(value), or
// done.fail(error); it may do so at once. Where the API can give up, a second function says so:
//
//   co_await peal::callback_await<Row>(start, [&] { database.cancel(text); }).within(5s)
//
// It is called when the wait is cancelled or too late. The wait ends then without the completion, which does nothing
// any more; so what the API still uses of the task's frame it must have let go of when that function returns. If it
// cannot, the wait belongs into a shield().
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

// What a completion knows of the wait, which may be over.
template <class T>
struct CallbackLink {
  const std::shared_ptr<Mailbox> mailbox;
  CallbackWait<T>* wait;  // the loop's; null once it is over
};

}  // namespace detail

// Ends one wait, once: later calls, and those that come too late, do nothing. Move-only; where copies are needed, put
// it into a std::shared_ptr. Any thread, one at a time; from another than the loop's the answer is posted. Destroyed
// uncalled, it ends the wait with EOWNERDEAD.
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

template <class T>
class CallbackWait : public Wait {
 public:
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

  Completion<T> completion() {
    link_ = std::make_shared<CallbackLink<T>>(strand().loop().mailbox(), this);
    return Completion<T>(link_);
  }
  void detach() { link_->wait = nullptr; }
  // Whether it is over by the time `start` has returned.
  bool has_answer() const { return answer_.has_value(); }
  bool starting_ = true;

 private:
  void arrived(Result<typename Completion<T>::Value> value) {
    answer_.emplace(std::move(value));
    if (!starting_) complete(0);
  }

  std::shared_ptr<CallbackLink<T>> link_;
  std::optional<Result<typename Completion<T>::Value>> answer_;
};

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
    if (this->has_answer()) return;  // by `start`, which has cancelled it as well
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
  Why cancelled_ = 0;  // by `start` itself
};

}  // namespace detail

// Answers Result<T>: what the completion was called with. An exception of `start` is thrown where it is awaited; that
// of `cancel` ends the process.
template <class T = void, class Start, class Cancel = const detail::NoCancel>
auto callback_await(Start&& start, Cancel&& cancel = {}) {
  static_assert(detail::kMayStandInAwait<Start> && detail::kMayStandInAwait<Cancel>,
                "a function that owns something must be a variable declared before the co_await: g++ 12 destroys a "
                "temporary one twice");
  return detail::CallbackAwait<T, std::remove_reference_t<Start>, std::remove_reference_t<Cancel>>(start, cancel);
}

}  // namespace peal
