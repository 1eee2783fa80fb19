// SPDX-License-Identifier: BSD-3-Clause
// LoopCell: finds the object of an OnLoop. The handles of the OnLoop and the posts on their way to its loop share a
// LoopCell. The loop owns the object itself (Loop::keep()), so the object is destroyed on the loop's thread, at the
// latest when the loop ends.
#pragma once

#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <peal/base/callback.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>
#include <peal/coro/run_on.h>
#include <peal/loop/loop.h>

namespace peal::detail {

// The type of the result of OnLoop<T>::ask() for a `Function` that returns R: R itself if R is a Result, otherwise
// Result<R>.
template <class T, class Function>
using AskAnswer = typename RunOnAnswer<std::invoke_result_t<Function&, T&>>::type;

// Calls `function` with the object and returns its result as an AskAnswer.
template <class T, class Function>
AskAnswer<T, Function> answer_from(Function& function, T& object) {
  if constexpr (std::is_void_v<std::invoke_result_t<Function&, T&>>) {
    function(object);
    return {};
  } else {
    return function(object);
  }
}

// True if OnLoop<T>::ask() accepts a `Function`. For any other type the code does not compile, and the compiler's
// message says why.
template <class T, class Function>
constexpr bool may_ask() {
  constexpr bool kTaken = std::is_invocable_v<Function&, T&>;
  static_assert(kTaken, "the function given to ask() takes a reference to the object, and nothing else");
  if constexpr (kTaken) {
    using Value = std::invoke_result_t<Function&, T&>;
    constexpr bool kIsValue = !std::is_reference_v<Value>;
    static_assert(
        kIsValue,
        "the function given to ask() must return a value, not a reference: the result goes to another thread");
    constexpr bool kEnds = !requires { typename Value::promise_type; };
    static_assert(kEnds,
                  "the function given to ask() must not be a coroutine: to run a task on another loop, use run_on()");
    return kIsValue && kEnds;
  }
  return false;
}

template <class T>
class LoopCell {
 public:
  using Make = Callback<std::shared_ptr<T>(Loop&)>;

  // Makes a cell without an object. `make` is called on the loop's thread when a function needs the object for the
  // first time.
  LoopCell(Loop& loop, Make make) : mailbox_(loop.mailbox()), make_(std::move(make)) {}

  Mailbox& mailbox() const { return *mailbox_; }
  // True if the calling thread runs the object's loop.
  bool here() const { return mailbox_->here() != nullptr; }

  // Returns the object; the first call makes it. Returns null if the object has been destroyed or could not be made.
  // object(), ask(), ask_for() and drop() must be called on the thread of the object's loop.
  std::shared_ptr<T> object() {
    if (make_) make();
    return object_.lock();
  }
  // Calls `function` with the object and returns the result. Fails with EOWNERDEAD if the object has been destroyed. If
  // `make` has thrown instead of making the object, throws that exception again.
  template <class Function>
  AskAnswer<T, Function> ask(Function& function) {
    if (const std::shared_ptr<T> object = this->object()) return answer_from<T>(function, *object);
    if (thrown_) std::rethrow_exception(thrown_);
    return fail(EOWNERDEAD);
  }
  // Calls `function` as ask() does. Then calls `then` with the result on the loop of `home`: inside this call if the
  // calling thread runs that loop, otherwise by a post. If `function` throws, the exception is logged and the result is
  // ECANCELED.
  template <class Function>
  void ask_for(Mailbox& home, Function& function, Callback<void(AskAnswer<T, Function>)> then) {
    std::optional<AskAnswer<T, Function>> answer;
    try {
      answer.emplace(ask(function));
    } catch (...) {
      if (const auto suppressed = log_limiter_.admit(mailbox_->here()->now())) {
        PEAL_LOG_ERROR("a function given to OnLoop::ask() threw: {} ({} more like it)", what_was_thrown(), *suppressed);
      }
      answer.emplace(fail(ECANCELED));
    }
    if (home.here() != nullptr) return then(std::move(*answer));
    home.insist([then = std::move(then), answer = std::move(*answer)]() mutable { then(std::move(answer)); });
  }
  // Makes the loop release the object. If the object was not made yet, it will never be made.
  void drop() {
    make_ = nullptr;
    if (const std::shared_ptr<T> last = object_.lock()) mailbox_->here()->let_go(last.get());
  }

 private:
  void make() {
    Make make = std::exchange(make_, nullptr);
    Loop& loop = *mailbox_->here();
    try {
      const std::shared_ptr<T> made = make(loop);
      object_ = made;
      loop.keep(made);
    } catch (...) {
      thrown_ = std::current_exception();
      PEAL_LOG_ERROR("the object of an OnLoop could not be made: {}", what_was_thrown());
    }
  }

  const std::shared_ptr<Mailbox> mailbox_;
  Make make_;                  // empty after the object was made or dropped
  std::weak_ptr<T> object_;    // the loop owns the object
  std::exception_ptr thrown_;  // what `make_` has thrown
  LogLimiter log_limiter_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
