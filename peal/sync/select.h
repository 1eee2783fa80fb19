// SPDX-License-Identifier: BSD-3-Clause
// select(): waits for several things at once and takes exactly one of them.
//
//   auto chosen = co_await peal::select(orders.pop(), closing.wait(), peal::sleep(limit));
//   if (!chosen) co_return;                                      // cancelled, or too late
//   if (auto* order = std::get_if<0>(&*chosen)) serve(*order);   // what pop() answers, a Result
//   else if (chosen->index() == 1) co_return;
//
// The answer is a Result of a std::variant, with a place for what each await would have answered. The error is
// select()'s own: what cancelled it, or its deadline's ETIMEDOUT.
//
// What was not chosen has not happened: no item was popped, no permit taken, no byte read. As soon as one is complete
// the others are withdrawn, and not only when the task is resumed. Where several are ready already, the first in the
// order of the arguments is taken, and the rest is not even looked at. An item that was not pushed dies with the
// select().
//
// Only what can be withdrawn like that is taken: pop() and push(), wait() of an event, acquire(), lock(), accept(),
// sleep(), readable() and writable(), a stream's reads, receive(). A task or a write has done something by the time it
// is withdrawn; tasks are raced by when_any(), which cancels the others and waits for them. Await it in the same
// expression: the arguments are not moved.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <peal/coro/task.h>

namespace peal {

namespace detail {

// What selectable() makes of an awaitable: the node that waits.
template <class What>
concept Selectable = requires(What& what) {
  { what.selectable() } -> std::same_as<Wait&>;
};

// The strand of those that wait side by side.
template <class... Whats>
class [[nodiscard]] Select final : public Awaitable<Select<Whats...>>, private Strand {
 public:
  using Answer = Result<std::variant<decltype(std::declval<Whats&>().await_resume())...>>;

  explicit Select(Whats&... whats) : Strand(nullptr), whats_(whats...) {}
  bool await_ready() {
    return any([this](size_t index, auto& what) { return what.await_ready() && choose(index); });
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!this->begin(handle)) return false;
    this->loop_ = &Wait::strand().loop();
    const bool chosen = any([this, handle](size_t index, auto& what) {
      PEAL_ASSERT(!what.selectable().selected(), "two arguments of a select() are one wait; the second is argument {}",
                  index);
      if (!what.await_suspend(handle)) return choose(index);
      what.selectable().select_by(*this);
      return false;
    });
    Wait::strand().wait_in(this);
    if (!chosen) return true;
    withdraw_others();
    return this->refuse(0);
  }
  Answer await_resume() {
    if (chosen_ == kNone) return failed(this->why_);
    return answer_of_chosen();
  }
  void cancel(Why why) noexcept override {
    withdraw_others();
    this->complete(why);
  }

 private:
  static constexpr size_t kNone = sizeof...(Whats);

  // Asks one after the other until one answers true.
  template <class Ask>
  bool any(Ask&& ask) {
    size_t index = 0;
    return std::apply([&](auto&... whats) { return (ask(index++, whats) || ...); }, whats_);
  }
  bool choose(size_t index) {
    chosen_ = index;
    return true;
  }
  // One of them is complete: the first to be is the one, the others are as they are withdrawn.
  std::coroutine_handle<> on_done() noexcept override {
    if (!decided_) {
      any([this](size_t index, auto& what) { return !what.selectable().selected() && choose(index); });
      withdraw_others();
      this->complete(0);
    }
    return std::noop_coroutine();
  }
  // From the last one: of two that wait for the same thing the first to go would hand over its place to the other.
  template <size_t kLeft = kNone>
  void withdraw_others() {
    decided_ = true;
    auto& what = std::get<kLeft - 1>(whats_);
    if (what.selectable().selected()) {
      what.selectable().cancel(ECANCELED);
      if constexpr (requires { what.withdrawn(); }) what.withdrawn();
    }
    if constexpr (kLeft > 1) withdraw_others<kLeft - 1>();
  }
  template <size_t kIndex = 0>
  Answer answer_of_chosen() {
    if constexpr (kIndex + 1 < kNone) {
      if (chosen_ != kIndex) return answer_of_chosen<kIndex + 1>();
    }
    return Answer(std::in_place, std::in_place_index<kIndex>, std::get<kIndex>(whats_).await_resume());
  }

  const std::tuple<Whats&...> whats_;
  size_t chosen_ = kNone;
  bool decided_ = false;
};

}  // namespace detail

template <class... Whats>
detail::Select<std::remove_reference_t<Whats>...> select(Whats&&... whats) {
  static_assert(sizeof...(Whats) > 0, "select() needs at least one argument");
  static_assert((detail::Selectable<std::remove_reference_t<Whats>> && ...),
                "select() accepts only what can be withdrawn without effect: pop(), push(), wait(), acquire(), lock(), "
                "accept(), sleep(), readable(), writable(), reads, receive(). To race tasks, use when_any(). "
                "For a deadline, use select(...).within() or a sleep() among the arguments");
  return detail::Select<std::remove_reference_t<Whats>...>(whats...);
}

}  // namespace peal
