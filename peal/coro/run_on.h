// SPDX-License-Identifier: BSD-3-Clause
// co_await run_on(other_loop, work()): goes on in another loop, and comes back with the answer. The task runs on the
// other loop's thread, the awaiting one waits on its own: so every strand stays on one loop, and nothing of a loop is
// touched elsewhere. What the task's arguments refer to must bear that thread.
//
// Answers Result<T>, or T where that is a Result already. Trouble::kLoopStopped when the other loop refuses: it has
// ended, or its queue of posts is full; then the task never begins. Cancelling travels there and back; an exception
// too. If the awaiting task's loop ends meanwhile, its end waits for the cancelled task; not in steps, for a loop that
// the same thread steps: then the await ends when it is cancelled again, or never.
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

template <class T>
struct RunOnAnswer : std::type_identity<Result<T>> {};
template <class T>
struct RunOnAnswer<Result<T>> : std::type_identity<Result<T>> {};

// The task's strand on the other loop. Shared, for the mailboxes of both.
class CrossLoopTask final : public Strand, public Runnable, public std::enable_shared_from_this<CrossLoopTask> {
 public:
  // Told on the home loop, once.
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

  bool send();
  void cancel_from_home(Why why) noexcept;
  void run() noexcept override;
  std::coroutine_handle<> on_done() noexcept override;

 private:
  void cancel_at_the_end() noexcept;
  void resume_awaiting() noexcept;

  const std::shared_ptr<Mailbox> home_;
  const std::shared_ptr<Mailbox> away_;
  HomeWait& waiting_;
  PromiseBase& promise_;
  const std::coroutine_handle<> task_;
  bool begun_ = false;               // the away loop's
  bool taken_ = false;               // the away loop has ended: the home loop's thread ends the task
  bool told_ = false;                // the home loop's, as is the next
  bool kept_ = false;                // by the home loop
  std::atomic<bool> ended_ = false;  // the task's frame is at rest
};

}  // namespace detail

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

template <class T>
RunOn<T> run_on(Loop& loop, Task<T> task) {
  return RunOn<T>(loop, std::move(task));
}

}  // namespace peal
