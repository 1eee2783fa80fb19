// SPDX-License-Identifier: BSD-3-Clause
// Callbacks: what a user is told by. They are std::move_only_function and std::function, at no further cost, of what
// answers nothing: a result would be lost, and that of a coroutine, a Task, would never run. A coroutine is spawned in
// a Scope, by a callback that then returns.
//
//   Callback          the usual one; moved
//   SharedCallback    several loops may call it, on several threads at once: its own state never changes
//   CopyableCallback  for options, which are copied
//
// A shared one moves into a Callback, and a std::move_only_function or std::function into what is made of it. Empty
// ones are null; but a std::function made of an empty callback is not empty, so keep them as what they are.
//
// One that is made of what it cannot call does not compile, with a sentence that says what is accepted. For that its
// constructor takes whatever could have been meant as a callback, so std::is_constructible tells nothing: who has to
// choose between overloads asks `kAccepts`.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace peal {

namespace detail {

// What is wrong with `What` as a callback of Signature.
template <class Signature, class What>
struct CallbackCheck;
template <class Answer, class... Args, class What>
struct CallbackCheck<Answer(Args...), What> {
  static constexpr bool kCallable = std::invocable<std::decay_t<What>&, Args...>;
  static constexpr bool kAnswers = !kCallable || requires(std::decay_t<What>& function, Args&&... args) {
    { std::invoke(function, std::forward<Args>(args)...) } -> std::same_as<Answer>;
  };
  static constexpr bool kMoves = std::constructible_from<std::decay_t<What>, What>;
  static constexpr bool kPassed = kCallable && kAnswers && kMoves;
};

// The callback itself; where it is none, a sentence.
template <class Signature, class What>
constexpr decltype(auto) checked_callback(What&& what) {
  using Check = CallbackCheck<Signature, What>;
  static_assert(
      Check::kCallable,
      "a callback is called with the arguments of its Signature, which is named above: this one takes others");
  static_assert(Check::kAnswers,
                "a callback returns what its Signature says, void as a rule: another result would be lost, and a "
                "coroutine in its place never run; have a callback spawn that in a Scope");
  static_assert(Check::kMoves, "a callback that cannot be copied is moved: std::move() it");
  if constexpr (Check::kPassed) {
    return std::forward<What>(what);
  } else {
    return nullptr;
  }
}

template <class What, class Own>
concept MeantAsCallback = !std::derived_from<What, Own> && (!std::is_scalar_v<What> || std::is_pointer_v<What>);

template <class Function, class Signature>
class CallbackOf : public Function {
 public:
  CallbackOf(std::nullptr_t = nullptr) {}
  template <class What>
    requires MeantAsCallback<std::decay_t<What>, CallbackOf>
  CallbackOf(What&& what)  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
      : Function(checked_callback<Signature>(std::forward<What>(what))) {}
  template <class What>
  static constexpr bool kAccepts = CallbackCheck<Signature, What>::kPassed;
};

}  // namespace detail

template <class Signature>
using Callback = detail::CallbackOf<std::move_only_function<Signature>, Signature>;

template <class Signature>
using CopyableCallback = detail::CallbackOf<std::function<Signature>, Signature>;

// What it calls is callable as const, so it may be called as const itself, by anybody who has it.
template <class Signature>
class SharedCallback;
template <class Answer, class... Args>
class SharedCallback<Answer(Args...)> : public Callback<Answer(Args...)> {
  using Plain = Callback<Answer(Args...)>;

 public:
  SharedCallback(std::nullptr_t = nullptr) {}
  template <class What>
    requires detail::MeantAsCallback<std::decay_t<What>, SharedCallback>
  SharedCallback(What&& what) : Plain(std::forward<What>(what)) {  // NOLINT(bugprone-forwarding-reference-overload)
    static_assert(kAccepts<What> || !Plain::template kAccepts<What>,
                  "several loops call this callback at once, so it has no state that changes: no `mutable` lambda, and "
                  "no Callback, which may hold one");
  }
  template <class What>
  static constexpr bool kAccepts = Plain::template kAccepts<What> && std::invocable<const std::decay_t<What>&, Args...>;

  Answer operator()(Args... args) const {
    return const_cast<SharedCallback*>(this)->Plain::operator()(std::forward<Args>(args)...);
  }
};

}  // namespace peal
