// SPDX-License-Identifier: BSD-3-Clause
// The types of callbacks that the library's functions and options take. Each is a std::move_only_function or a
// std::function and costs nothing more.
//
//   Callback          The usual type. It can be moved and not copied.
//   SharedCallback    Several loops may call it on several threads at once, so the function must be callable as const.
//   CopyableCallback  For option structs, which are copied.
//
// A callback must return exactly the type in its signature, which is void as a rule. Any other result would be lost. In
// particular a coroutine does not compile as a callback: its Task would be destroyed and would never run. Spawn the
// coroutine in a Scope, from a callback that returns void.
//
// A SharedCallback can be moved into a Callback. A std::move_only_function or std::function converts to the type here
// that is made of it. A default-constructed callback is null. A std::function that is made from an empty callback is
// not empty, so do not convert an empty callback.
//
// A constructor accepts nearly every argument, and reports an unsuitable one by a static_assert with an explanation.
// Therefore std::is_constructible is true for unsuitable arguments too. Code that selects between overloads has to ask
// `kAccepts` instead.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace peal {

namespace detail {

// Checks whether a `What` can be used as a callback of Signature. Each constant answers one of the questions:
//   kCallable  Can it be called with the arguments of the signature?
//   kAnswers   Does it return exactly the result of the signature?
//   kMoves     Can it be moved or copied into the callback?
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

// Returns `what` if it can be used as a callback of Signature. Otherwise a static_assert fails with a sentence that
// says what is wrong.
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

// True if the constructor of the callback class `Own` checks an argument of type `What`. False for an `Own`, which is
// copied or moved, and for numbers and enumerators, which are left to other overloads.
template <class What, class Own>
concept MeantAsCallback = !std::derived_from<What, Own> && (!std::is_scalar_v<What> || std::is_pointer_v<What>);

// A callback class whose constructor checks its argument. The base class `Function` is a std::move_only_function or a
// std::function.
template <class Function, class Signature>
class CallbackOf : public Function {
 public:
  CallbackOf(std::nullptr_t = nullptr) {}
  template <class What>
    requires MeantAsCallback<std::decay_t<What>, CallbackOf>
  CallbackOf(What&& what)  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
      : Function(checked_callback<Signature>(std::forward<What>(what))) {}

  // True if a `What` can be used as this callback.
  template <class What>
  static constexpr bool kAccepts = CallbackCheck<Signature, What>::kPassed;
};

}  // namespace detail

// A callback that can be moved and not copied.
template <class Signature>
using Callback = detail::CallbackOf<std::move_only_function<Signature>, Signature>;

// A callback that can be copied, so the function that it holds must be copyable too.
template <class Signature>
using CopyableCallback = detail::CallbackOf<std::function<Signature>, Signature>;

// A callback that several threads may call at once. The function that it holds is called as const, so it cannot change
// state of its own. Data that the function refers to must be safe to use from those threads.
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

  // True if a `What` can be used as this callback: a Callback of the signature accepts it, and it is callable as const.
  template <class What>
  static constexpr bool kAccepts = Plain::template kAccepts<What> && std::invocable<const std::decay_t<What>&, Args...>;

  Answer operator()(Args... args) const {
    return const_cast<SharedCallback*>(this)->Plain::operator()(std::forward<Args>(args)...);
  }
};

}  // namespace peal
