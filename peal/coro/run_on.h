// SPDX-License-Identifier: BSD-3-Clause
// co_await run_on(other_loop, work()): runs a task on another loop and returns its result. The task runs on the other
// loop's thread while the awaiting coroutine waits on its own loop. So every strand (chain of awaits) stays on one
// loop, and no loop is touched by a foreign thread. The objects that the task's arguments refer to are used on the
// other loop's thread.
//
// Returns Result<T>, or T if T is a Result already. The error is Trouble::kLoopStopped if the other loop refuses the
// task, because it has ended or its queue of posts is full; the task never begins then. Cancelling the awaiting
// coroutine cancels the task on its loop, and the await ends when the task has ended. An exception of the task is
// thrown where run_on() is awaited.
//
// If the awaiting coroutine was cancelled and its loop ends meanwhile, the end of the loop waits until the task has
// ended. If the loop has ended before, the call that cancels waits. The end of a loop does not wait if the same thread
// steps both loops: the await then ends when it is cancelled again, or never.
//
// Two loops whose tasks wait for each other through run_on() must not be ended at the same time: each end would wait
// for the other. Drain the server, or cancel the tasks, before the loops are stopped.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>

#include <peal/coro/task.h>
#include <peal/loop/loop.h>

namespace peal {

namespace detail {

// The type of the result of run_on() for a task that returns T: T itself if T is a Result, otherwise Result<T>.
template <class T>
struct RunOnAnswer : std::type_identity<Result<T>> {};
template <class T>
struct RunOnAnswer<Result<T>> : std::type_identity<Result<T>> {};

// The task that run_on() runs on another loop, as a chain of awaits (Strand) of its own. Names in this class call the
// loop of the awaiting coroutine "home" and the loop of the task "away". The awaiting coroutine and the posts in the
// mailboxes of both loops own this object together.
class CrossLoopTask final : public Strand, public Runnable, public std::enable_shared_from_this<CrossLoopTask> {
 public:
  // The wait of the coroutine that awaits run_on(); base class of RunOn. task_ended() is called once, on the loop of
  // that coroutine, and ends the wait.
  class HomeWait : public Wait {
   public:
    void cancel(Why why) noexcept override { cross_task_->cancel_from_home(why); }
    void task_ended() noexcept { complete(0); }

   protected:
    ~HomeWait() = default;
    std::shared_ptr<CrossLoopTask> cross_task_;
  };

  CrossLoopTask(Loop& home, Loop& away, HomeWait& waiting, PromiseBase& promise, std::coroutine_handle<> task)
      : Strand(&away),
        home_(home.mailbox()),
        away_(away.mailbox()),
        waiting_(waiting),
        promise_(promise),
        task_(task) {}

  // Posts the task to the loop on which the task is to run. Returns false if that loop refuses the post.
  bool send();
  // Cancels the task. Called on the thread of the awaiting coroutine's loop.
  void cancel_from_home(Why why) noexcept;
  // Called twice. The first call begins the task. The second call is made after the task has ended. The second call
  // makes the awaiting coroutine's loop resume the awaiting coroutine.
  void run() noexcept override;
  std::coroutine_handle<> on_done() noexcept override;

 private:
  // Registers a function with the awaiting coroutine's loop, unless this was done before. When that loop ends, the
  // function cancels the task and waits until the task has ended.
  void cancel_when_home_ends() noexcept;
  // Resumes the coroutine that awaits run_on(), unless an earlier call has resumed it. Called on the thread of that
  // coroutine's loop.
  void resume_awaiting() noexcept;

  const std::shared_ptr<Mailbox> home_;
  const std::shared_ptr<Mailbox> away_;
  HomeWait& waiting_;
  PromiseBase& promise_;
  const std::coroutine_handle<> task_;
  bool begun_ = false;             // true if the task has begun; used by the away loop's thread
  bool taken_ = false;             // true if the away loop has ended, so that the home loop's thread must end the task
  bool awaiting_resumed_ = false;  // true if the wait of run_on() was completed; used by the home loop's thread
  bool registered_ = false;  // true if cancel_when_home_ends() has registered this; used by the home loop's thread
  std::atomic<bool> ended_ = false;  // true if the task has ended and no thread touches its frame
};

}  // namespace detail

// The awaitable that run_on() returns.
template <class T>
class [[nodiscard]] RunOn final : public detail::Awaitable<RunOn<T>, detail::CrossLoopTask::HomeWait> {
 public:
  RunOn(Loop& away, Task<T> task) : away_(away), task_(std::move(task)) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    Loop& home = handle.promise().strand()->loop();
    if (!this->begin(handle)) return false;
    this->cross_task_ =
        std::make_shared<detail::CrossLoopTask>(home, away_, *this, task_.coroutine().promise(), task_.coroutine());
    return this->cross_task_->send() || this->refuse(detail::why_of(Trouble::kLoopStopped));
  }
  typename detail::RunOnAnswer<T>::type await_resume() {
    if (this->why_ != 0) return detail::failed(this->why_);
    if constexpr (std::is_void_v<T>) {
      task_.coroutine().promise().take();
      return {};
    } else {
      return task_.coroutine().promise().take();
    }
  }

 private:
  Loop& away_;
  Task<T> task_;
};

// Returns an awaitable that runs `task` on `loop` and returns the task's result. The awaiting coroutine stays on its
// own loop.
template <class T>
RunOn<T> run_on(Loop& loop, Task<T> task) {
  return RunOn<T>(loop, std::move(task));
}

}  // namespace peal
