// SPDX-License-Identifier: BSD-3-Clause
// OnLoop<T>: an object that lives on one loop, and that other threads use only by sending functions to it (an actor).
// The object needs no lock, since only its loop's thread touches it.
//
//   peal::OnLoop<Store> store(loop);                                        // Store(loop), on the loop's thread
//   store.tell([](Store& s) { s.clear(); });                                // any thread
//   peal::Result<int> n = co_await store.ask([&](Store& s) { return s.count(key); });   // any loop's coroutine
//
// The object is made on the loop's thread before the first function is called with it. It is destroyed on that thread
// after the last handle was destroyed and all functions sent before have been called; or when the loop ends. No
// function here waits for another thread, so whatever the object refers to must live until the loop has ended.
//
// The functions of one thread are called in the order in which that thread has sent them, once the loop runs. Functions
// that were sent before run(), or between two steps of a stepped loop, may run after events of the loop that came
// later. A function from the object's own loop is called at once, even inside another call of the object. Otherwise
// calls never overlap. As any callback does, a function should return soon.
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

// The awaitable that OnLoop::ask() returns. An ask() from another loop costs one post to the object's loop and one post
// back. An ask() on the object's own loop costs no post.
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
    // If the loop refuses this post, the Ticket is destroyed. The destructor of the Ticket ends this wait with
    // Trouble::kLoopStopped.
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

// A handle of an object that lives on one loop. Copies of a handle refer to the same object. Several
// threads may call the functions of one handle at the same time, but none may assign to it or destroy it meanwhile. The
// loop must exist when the first handle is made.
template <class T>
class OnLoop {
 public:
  // Makes the object by calling `make(Loop&)` on the loop's thread. If `make` throws, the exception is logged. Each
  // ask() then throws the exception again, and functions that are given to tell() are dropped.
  template <class Make>
  OnLoop(Loop& loop, Make make) : cell_(cell_of(loop, std::move(make))), owner_(owner_of(cell_)) {}
  // Makes the object as T(loop), or as T() if T has no such constructor.
  explicit OnLoop(Loop& loop) : OnLoop(loop, [](Loop& own) { return plain(own); }) {}

  // Calls `function` with the object. On the object's loop the call is made at once, on other threads later by a post.
  // Returns false if `function` will not be called:
  // - on another thread: the loop has stopped, or its queue of posts is full;
  // - on the object's loop: the object has been destroyed or could not be made.
  //
  // A post that the loop has accepted is dropped if the object could not be made, or is destroyed before the post runs.
  // On the object's loop, an exception of `function` is thrown to the caller of tell(). In a post, the loop logs and
  // counts the exception.
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

  // For coroutines: calls `function` with the object. If `function` returns R, the await returns Result<R>, or R if R
  // is a Result already. An exception of `function` is thrown by the co_await expression. Errors:
  // - Trouble::kLoopStopped: the object's loop has stopped, or its queue of posts is full.
  // - EOWNERDEAD: the object has been destroyed.
  //
  // If the await is cancelled, or its deadline (within()) passes, before `function` has begun, `function` is not
  // called. If `function` has begun by then, the await still ends after `function` and returns its result. The
  // coroutine may then be resumed after the call that has cancelled it, such as the destructor of a server, has
  // returned. So `function` may refer to the frame of the awaiting coroutine. `function` is borrowed until the await
  // ends.
  template <class Function>
  auto ask(Function&& function) const {
    static_assert(detail::kMayStandInAwait<Function>,
                  "a function that owns something must be a variable declared before the co_await: g++ 12 destroys a "
                  "temporary one twice");
    if constexpr (detail::may_ask<T, std::remove_reference_t<Function>>()) {
      return Ask<T, std::remove_reference_t<Function>>(cell_, function);
    }
  }

  // For callbacks: calls `function` with the object, then calls `then` with the result on the loop `home`. Both are
  // called inside ask() if the calling thread runs both loops. If the object's loop refuses the post, ask() returns
  // false and neither function is called. `home` may be any loop. If `function` throws, the exception is logged and the
  // result is ECANCELED. `then` is destroyed on the object's loop without being called in two cases:
  // - `home` has ended before the result came.
  // - The object's loop has ended without ever running.
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

  // Returns the object if the calling thread runs the object's loop; otherwise null.
  T* here() const { return cell_->here() ? cell_->object().get() : nullptr; }

 private:
  using Cell = detail::LoopCell<T>;

  // Makes the object if the constructor of OnLoop was given no `make`.
  static T plain(Loop& loop) {
    if constexpr (std::constructible_from<T, Loop&>) {
      return T(loop);
    } else {
      return T();
    }
  }
  // Makes the cell. Also makes the object: inside this call on the loop's thread, by a post on other threads.
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
  // Returns a pointer that all handles share. When its last copy is destroyed, a post makes the loop release the
  // object. If the loop refuses that post, the loop is about to end, and destroys the object itself.
  static std::shared_ptr<void> owner_of(const std::shared_ptr<Cell>& cell) {
    return run_when_released([cell] { cell->mailbox().insist([cell] { cell->drop(); }); });
  }

  std::shared_ptr<Cell> cell_;
  std::shared_ptr<void> owner_;  // all handles share it; the object is released after the last of them
};

}  // namespace peal
