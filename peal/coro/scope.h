// SPDX-License-Identifier: BSD-3-Clause
// Scope: owns tasks that run side by side on one loop.
//
//   peal::Scope scope(loop);
//   scope.spawn(tick());
//   scope.spawn(tock());
//   co_await scope.join();
//
// It belongs to its loop's thread, and is left only when every child has ended: join(), or cancel() and join().
// Destroying it while a child lives asserts. Once its loop has ended nothing can wait any more: then destroying it
// cancels what still waits, with Trouble::kLoopStopped, and that ends there and then.
//
// The first exception that leaves a child cancels the others and is thrown again by join(); later ones are logged.
#pragma once

#include <cerrno>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>

#include <peal/coro/task.h>
#include <peal/loop/loop.h>

namespace peal {

class Scope {
 public:
  class Join;

  explicit Scope(Loop& loop);
  // A stop that is requested, on any thread, cancels the scope, on its loop.
  Scope(Loop& loop, std::stop_token stop);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Begins at once, or when the running coroutine suspends; before the loop runs, with the loop. False, and the task
  // never begins, once the loop has begun to end. A task begun in a cancelled scope is cancelled from the start.
  bool spawn(Task<> task);
  // What is no Task<> does not compile, with a sentence.
  template <class What>
    requires(!std::same_as<std::remove_cvref_t<What>, Task<>>)
  bool spawn(What&&) {
    static_assert(std::is_void_v<What>,
                  "a Scope spawns a Task<>: call the coroutine, spawn(task()). Another task, such as a Task<int>, is "
                  "refused because its result would be lost");
    return false;
  }
  // Cancels the children of now and later, with ECANCELED.
  void cancel() { cancel(mailbox_->open() ? ECANCELED : detail::why_of(Trouble::kLoopStopped)); }
  // Waits until no child is left. One waits at a time. When the waiting task is cancelled, or the deadline passes, the
  // children are cancelled and waited for, and the answer is that error.
  Join join();
  size_t size() const { return size_; }
  Loop& loop() const { return *loop_; }

 private:
  class Child;
  void cancel(detail::Why why);
  void ended(Child& child);
  void keep_exception(const std::exception_ptr& thrown);
  const std::shared_ptr<Scope*>& self();

  Loop* const loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  detail::WaitList<Child> children_;
  size_t size_ = 0;
  Join* joining_ = nullptr;
  detail::Why cancelled_ = 0;
  std::exception_ptr thrown_;
  std::shared_ptr<Scope*> self_;  // what tasks posted to the loop know of this
  std::optional<std::stop_callback<std::function<void()>>> stop_;
};

class [[nodiscard]] Scope::Join final : public detail::Awaitable<Join> {
 public:
  explicit Join(Scope& scope) : scope_(scope) {}
  bool await_ready() const { return scope_.size_ == 0; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    PEAL_ASSERT(scope_.joining_ == nullptr, "two tasks join a scope of {} children", scope_.size_);
    scope_.joining_ = this;
    begin_joining(handle);
  }
  Result<void> await_resume();
  void cancel(detail::Why why) noexcept override;

 private:
  friend class Scope;
  Scope& scope_;
  detail::Why reason_ = 0;
};

inline Scope::Join Scope::join() { return Join(*this); }

}  // namespace peal
