// SPDX-License-Identifier: BSD-3-Clause
// OnLoop<T>: an object that lives on one loop, and that everybody else tells and asks: an actor. It needs no lock,
// since only its loop's thread touches it.
//
//   peal::OnLoop<Store> store(loop);                                        // Store(loop), on the loop's thread
//   store.tell([](Store& s) { s.clear(); });                                // any thread
//   peal::Result<int> n = co_await store.ask([&](Store& s) { return s.count(key); });   // any loop's coroutine
//
// It is made on the loop's thread, before anything that is told or asked, and dies there: after the last handle, when
// what was told and asked before has been called, or when the loop ends. Nothing here waits for another thread; so what
// the object refers to lives until the loop has ended.
//
// What comes from one thread is called in its order, once the loop runs; what was told before run(), or between steps,
// the loop's own events may overtake. For what comes from the object's own loop is called at once: inside a call of the
// object too, in the midst of that. Otherwise nothing touches the object while it is called. So a call is short, like
// any callback.
#pragma once

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <peal/base/memory/when_released.h>
#include <peal/share/loop_cell.h>
#include <peal/sync/lent_call.h>

namespace peal {

// The wait for an answer: one post there, one back, nothing on the object's own loop.
template <class T, class Function>
class [[nodiscard]] Ask final : public detail::Awaitable<Ask<T, Function>, detail::LentCall::Lender> {
 public:
  using Answer = detail::AskAnswer<T, Function>;

  Ask(std::shared_ptr<detail::LoopCell<T>> cell, Function& function) : cell_(std::move(cell)), function_(function) {}
  bool await_ready() {
    if (!cell_->here()) return false;
    work();
    return true;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!this->begin(handle)) return false;
    const detail::Why stopped = detail::why_of(Trouble::kLoopStopped);
    this->call_ = std::make_shared<detail::LentCall>(*this, this->strand().loop(), stopped);
    // Refused, the ticket dies, and that says so.
    cell_->mailbox().post(detail::LentCall::Ticket(this->call_));
    return true;
  }
  Answer await_resume() {
    if (thrown_) std::rethrow_exception(thrown_);
    if (!answer_) return detail::failed(this->why_);
    return std::move(*answer_);
  }
  void work() noexcept override {
    try {
      answer_.emplace(cell_->ask(function_));
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

 private:
  const std::shared_ptr<detail::LoopCell<T>> cell_;
  Function& function_;
  std::optional<Answer> answer_;
  std::exception_ptr thrown_;
};

// A handle; copies name the same object. Any thread, each copy one at a time. The loop is there when it is made.
template <class T>
class OnLoop {
 public:
  // The object is what `make(Loop&)` answers, which is called on the loop's thread. What it throws is logged, and
  // thrown where the object is asked; what the object is told is lost then.
  template <class Make>
  OnLoop(Loop& loop, Make make) : cell_(cell_of(loop, std::move(make))), owner_(owner_of(cell_)) {}
  // T(loop), or T() where there is no such constructor.
  explicit OnLoop(Loop& loop) : OnLoop(loop, [](Loop& own) { return plain(own); }) {}

  // Calls `function` with the object. False: refused, since the loop has stopped or its queue of posts is full, or, on
  // the loop itself, since there is no object. On the loop what it throws is the caller's, else it is logged and
  // counted.
  bool tell(Callback<void(T&)> function) const {
    if (cell_->here()) {
      const std::shared_ptr<T> object = cell_->object();
      if (object) function(*object);
      return object != nullptr;
    }
    return cell_->mailbox().post([cell = cell_, function = std::move(function)]() mutable {
      if (const std::shared_ptr<T> object = cell->object()) function(*object);
    });
  }

  // For coroutines: calls `function` with the object, and brings back what it answers: Result<R>, or R where that is a
  // Result already; what it throws is thrown where it is awaited. Trouble::kLoopStopped: refused as by tell();
  // EOWNERDEAD: the object is gone. Cancelled, or too late (within()), it is not called any more; once it is being
  // called its answer counts, and the task goes on then, even if what has cancelled it (the destructor of a server) is
  // over. So it may refer to the frame of whoever awaits; borrowed until the await ends.
  template <class Function>
  auto ask(Function&& function) const {
    static_assert(detail::kMayStandInAwait<Function>,
                  "a function that owns something must be a variable declared before the co_await: g++ 12 destroys a "
                  "temporary one twice");
    if constexpr (detail::may_ask<T, std::remove_reference_t<Function>>()) {
      return Ask<T, std::remove_reference_t<Function>>(cell_, function);
    }
  }

  // For callbacks: the same, and calls `then` with the answer on `home`, any loop; at once where both are the calling
  // thread's. False: refused, neither is called. `then` is not called, and dies on the object's loop, when `home` has
  // ended before the answer came, or that loop before it ran at all. What `function` throws is logged, ECANCELED then.
  template <class Function, class Then>
  bool ask(Loop& home, Function function, Then then) const {
    if constexpr (detail::may_ask<T, Function>()) {
      Callback<void(detail::AskAnswer<T, Function>)> last = std::move(then);
      auto calls = [cell = cell_, home = home.mailbox(), function = std::move(function),
                    last = std::move(last)]() mutable { cell->ask_for(*home, function, std::move(last)); };
      if (!cell_->here()) return cell_->mailbox().post(std::move(calls));
      calls();
      return true;
    } else {
      return false;
    }
  }

  // The object, for who is on its loop's thread; else null.
  T* here() const { return cell_->here() ? cell_->object().get() : nullptr; }

 private:
  using Cell = detail::LoopCell<T>;

  static T plain(Loop& loop) {
    if constexpr (std::constructible_from<T, Loop&>) {
      return T(loop);
    } else {
      return T();
    }
  }
  template <class Make>
  static std::shared_ptr<Cell> cell_of(Loop& loop, Make make) {
    constexpr bool kMakes = std::is_invocable_r_v<T, Make&, Loop&>;
    static_assert(kMakes,
                  "the object of an OnLoop is made by a function that takes a Loop& and returns the object by value");
    if constexpr (kMakes) {
      auto cell = std::make_shared<Cell>(
          loop, [make = std::move(make)](Loop& own) mutable { return std::shared_ptr<T>(new T(make(own))); });
      if (cell->here()) {
        cell->object();
      } else {
        cell->mailbox().insist([cell] { cell->object(); });
      }
      return cell;
    } else {
      return nullptr;
    }
  }
  // Refused, the loop is about to end, and the object with it.
  static std::shared_ptr<void> owner_of(const std::shared_ptr<Cell>& cell) {
    return run_when_released([cell] { cell->mailbox().insist([cell] { cell->drop(); }); });
  }

  std::shared_ptr<Cell> cell_;
  std::shared_ptr<void> owner_;  // of all copies: its end is the object's
};

}  // namespace peal
