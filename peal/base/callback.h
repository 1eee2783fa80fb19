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
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace peal {

namespace detail {

template <class Function, class... Args>
concept AnswersNothing = std::is_void_v<std::invoke_result_t<std::decay_t<Function>&, Args...>>;

template <class Function, class... Args>
class CallbackOf : public Function {
 public:
  CallbackOf() = default;
  CallbackOf(std::nullptr_t) {}
  template <class What>
    requires(!std::derived_from<std::remove_cvref_t<What>, CallbackOf> && std::is_constructible_v<Function, What> &&
             AnswersNothing<What, Args...>)
  CallbackOf(What&& what)  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
      : Function(std::forward<What>(what)) {}
  template <class What>
    requires(!std::derived_from<std::remove_cvref_t<What>, CallbackOf> && std::is_constructible_v<Function, What> &&
             !AnswersNothing<What, Args...>)
  CallbackOf(What&& a_callback_returns_void_and_is_no_coroutine) = delete;
};

}  // namespace detail

template <class Signature>
class Callback;
template <class... Args>
class Callback<void(Args...)> : public detail::CallbackOf<std::move_only_function<void(Args...)>, Args...> {
 public:
  using detail::CallbackOf<std::move_only_function<void(Args...)>, Args...>::CallbackOf;
};

template <class Signature>
class CopyableCallback;
template <class... Args>
class CopyableCallback<void(Args...)> : public detail::CallbackOf<std::function<void(Args...)>, Args...> {
 public:
  using detail::CallbackOf<std::function<void(Args...)>, Args...>::CallbackOf;
};

// What it calls is callable as const, so it may be called as const itself, by anybody who has it.
template <class Signature>
class SharedCallback;
template <class... Args>
class SharedCallback<void(Args...)> : public Callback<void(Args...)> {
 public:
  SharedCallback() = default;
  SharedCallback(std::nullptr_t) {}
  template <class What>
    requires(!std::derived_from<std::remove_cvref_t<What>, SharedCallback> &&
             std::constructible_from<Callback<void(Args...)>, What> &&
             std::invocable<const std::decay_t<What>&, Args...>)
  SharedCallback(What&& what)  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
      : Callback<void(Args...)>(std::forward<What>(what)) {}
  template <class What>
    requires(!std::derived_from<std::remove_cvref_t<What>, SharedCallback> &&
             std::constructible_from<Callback<void(Args...)>, What> &&
             !std::invocable<const std::decay_t<What>&, Args...>)
  SharedCallback(What&& a_callback_of_several_loops_is_not_mutable) = delete;

  void operator()(Args... args) const {
    const_cast<SharedCallback*>(this)->Callback<void(Args...)>::operator()(std::forward<Args>(args)...);
  }
};

}  // namespace peal
