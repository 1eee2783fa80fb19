// SPDX-License-Identifier: BSD-3-Clause
// Scope: owns tasks, its children, that run side by side on one loop.
//
//   peal::Scope scope(loop);
//   scope.spawn(tick());
//   scope.spawn(tock());
//   co_await scope.join();
//
// A scope belongs to its loop's thread. It may be destroyed only after every child has ended: call join(), or cancel()
// and join(). Destroying a scope with a child that has not ended asserts. The exception is a scope whose loop has
// ended, where nothing can wait any more: its destructor cancels the children with Trouble::kLoopStopped, and they end
// inside the destructor.
//
// The first exception that leaves a child cancels the other children and is thrown again by join(). Later exceptions
// are logged.
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

  // Makes a scope that has no children yet. Its children will run on `loop`.
  explicit Scope(Loop& loop);

  // Makes a scope whose children are cancelled when `stop` is requested. Any thread may make the request. The children
  // are cancelled on the loop's thread.
  Scope(Loop& loop, std::stop_token stop);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Starts `task` as a child of this scope. The time at which the child begins depends on the loop:
  // - If the loop is not inside run() or step(), the child begins when the loop runs next.
  // - If the loop is inside run() or step() and a coroutine runs, the child begins when that coroutine suspends.
  // - If the loop is inside run() or step() and no coroutine runs, the child begins before spawn() returns.
  //
  // Returns false if the loop has begun to end; `task` then never begins. If the scope was cancelled before, the child
  // is cancelled from the start.
  bool spawn(Task<> task);
  // Makes the compiler reject every argument that is not a Task<>, with a message that says what to write instead.
  template <class What>
    requires(!std::same_as<std::remove_cvref_t<What>, Task<>>)
  bool spawn(What&&) {
    static_assert(std::is_void_v<What>,
                  "a Scope spawns a Task<>: call the coroutine, spawn(task()). Another task, such as a Task<int>, is "
                  "refused because its result would be lost");
    return false;
  }
  // Cancels all children, including those that are spawned later. The error of their waits is ECANCELED, or
  // Trouble::kLoopStopped if the loop has ended.
  void cancel() { cancel(mailbox_->open() ? ECANCELED : detail::why_of(Trouble::kLoopStopped)); }
  // Waits until all children have ended. Only one coroutine may wait in join() at a time (asserted). If that coroutine
  // is cancelled, or the deadline of join().within() passes, join() cancels the children and still waits until they
  // have ended. The await then fails with the reason of the cancellation, or with ETIMEDOUT.
  Join join();
  // Returns the number of children that have not ended.
  size_t size() const { return size_; }

  Loop& loop() const { return *loop_; }

 private:
  class Child;
  void cancel(detail::Why why);
  // Removes a child that has ended. Completes join() when no child is left.
  void ended(Child& child);
  // If `thrown` is the scope's first exception, keeps it for join() and cancels the other children. Later exceptions
  // are only logged.
  void keep_exception(const std::exception_ptr& thrown);
  // Returns the pointer `self_`, which the first call of this function creates.
  const std::shared_ptr<Scope*>& self();

  Loop* const loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  detail::WaitList<Child> children_;
  size_t size_ = 0;
  Join* joining_ = nullptr;  // the await of join() that waits; null if there is none
  detail::Why cancelled_ = 0;
  std::exception_ptr thrown_;
  std::shared_ptr<Scope*> self_;  // posts to the loop hold a weak_ptr to it, which expires with this scope
  std::optional<std::stop_callback<std::function<void()>>> stop_;
};

// The awaitable that Scope::join() returns.
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
  detail::Why reason_ = 0;  // why the await was cancelled; 0 if it was not
};

inline Scope::Join Scope::join() { return Join(*this); }

}  // namespace peal
