// SPDX-License-Identifier: BSD-3-Clause
// LoopCell: what the handles of an OnLoop, and the questions on their way to it, share: where the object is. The object
// itself is the loop's (Loop::keep), so that it dies on the loop's thread, at its end at the latest.
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

// What asking `Function` of a T answers.
template <class T, class Function>
using AskAnswer = typename RunOnAnswer<std::invoke_result_t<Function&, T&>>::type;

template <class T, class Function>
AskAnswer<T, Function> answer_from(Function& function, T& object) {
  if constexpr (std::is_void_v<std::invoke_result_t<Function&, T&>>) {
    function(object);
    return {};
  } else {
    return function(object);
  }
}

// Whether `Function` may be asked of a T; where it may not, a sentence.
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

  // The object is made by whatever comes first on the loop's thread.
  LoopCell(Loop& loop, Make make) : mailbox_(loop.mailbox()), make_(std::move(make)) {}

  Mailbox& mailbox() const { return *mailbox_; }
  bool here() const { return mailbox_->here() != nullptr; }

  // The rest is the loop's thread's.
  std::shared_ptr<T> object() {
    if (make_) make();
    return object_.lock();
  }
  // Asks there and then. EOWNERDEAD: the object is gone. What its making has thrown is thrown here.
  template <class Function>
  AskAnswer<T, Function> ask(Function& function) {
    if (const std::shared_ptr<T> object = this->object()) return answer_from<T>(function, *object);
    if (thrown_) std::rethrow_exception(thrown_);
    return fail(EOWNERDEAD);
  }
  // The same for `then`, which is called on the loop of `home`, at once where that is this one.
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
  Make make_;
  std::weak_ptr<T> object_;
  std::exception_ptr thrown_;
  LogLimiter log_limiter_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
