// SPDX-License-Identifier: BSD-3-Clause
// select(): waits for several events at once and takes exactly one of them.
//
//   auto chosen = co_await peal::select(orders.pop(), closing.wait(), peal::sleep(limit));
//   if (!chosen) co_return;                                      // cancelled, or the deadline has passed
//   if (auto* order = std::get_if<0>(&*chosen)) serve(*order);   // what pop() returns, a Result
//   else if (chosen->index() == 1) co_return;
//
// The await returns a Result of a std::variant, with one alternative for the result of each argument. The error is that
// of select() itself: the reason of a cancellation, or ETIMEDOUT for a deadline.
//
// An await that was not chosen has had no effect: no item was popped, no permit was taken, no byte was read. The other
// awaits are withdrawn as soon as one completes, before the coroutine is resumed. If several are ready at the
// beginning, the first in the order of the arguments is taken, and the later ones are not begun. An item of a push()
// that was not chosen is destroyed with the select().
//
// Only awaits that can be withdrawn without effect are accepted: pop() and push(), wait() of an event, acquire(),
// lock(), accept(), sleep(), readable() and writable(), the reads of a stream, receive(). A task or a write has had
// effects by the time it would be withdrawn. To race tasks, use when_any(), which cancels the others and waits for
// their end. Await a select() in the same expression, because its arguments are not moved.
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

// An awaitable that select() accepts. Its function selectable() returns its Wait.
template <class What>
concept Selectable = requires(What& what) {
  { what.selectable() } -> std::same_as<Wait&>;
};

// The awaitable that select() returns. A Select is also a Strand, so that the waits of the arguments report their
// completion to it by on_done().
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
  static constexpr size_t kNone = sizeof...(Whats);  // the value of chosen_ while none is chosen

  // Calls `ask(index, awaitable)` for one argument after the other, until a call returns true. Returns false if all
  // calls return false.
  template <class Ask>
  bool any(Ask&& ask) {
    size_t index = 0;
    return std::apply([&](auto&... whats) { return (ask(index++, whats) || ...); }, whats_);
  }
  bool choose(size_t index) {
    chosen_ = index;
    return true;
  }
  // Called when the wait of an argument completes. The first call chooses that argument and withdraws the others.
  // Withdrawing a wait completes that wait, so this function is called again; these further calls do nothing.
  std::coroutine_handle<> on_done() noexcept override {
    if (!decided_) {
      any([this](size_t index, auto& what) { return !what.selectable().selected() && choose(index); });
      withdraw_others();
      this->complete(0);
    }
    return std::noop_coroutine();
  }
  // Withdraws the waits that have not completed, from the last argument to the first. The order matters if two
  // arguments wait in the same list: withdrawing the first of them could complete the second.
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
  size_t chosen_ = kNone;  // the position of the chosen argument
  bool decided_ = false;   // true if one was chosen, or the select() was cancelled
};

}  // namespace detail

// Returns an awaitable that waits for all arguments at once and takes the first that completes. The others are
// withdrawn without effect.
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
