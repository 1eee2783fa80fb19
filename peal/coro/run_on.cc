// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/run_on.h>

#include <peal/base/memory/when_released.h>

namespace peal::detail {

bool CrossLoopTask::send() {
  return away_->post([cross_task = shared_from_this()] { ReadyQueue::run(*cross_task); });
}

// Called twice: to begin the task, and after the task has ended. The first call is made on the thread of the task's
// loop. The second call is made on the same thread, or, if the task's loop ended before the task (`taken_` is true), on
// the awaiting coroutine's thread.
void CrossLoopTask::run() noexcept {
  if (!std::exchange(begun_, true)) {
    promise_.belong(*this, nullptr);
    return task_.resume();
  }
  if (taken_) return resume_awaiting();
  const std::shared_ptr<CrossLoopTask> keep = shared_from_this();
  // This post is refused if the awaiting coroutine's loop has ended. In that case no post is needed: the thread of the
  // ended loop waits for `ended_` in cancel_from_home().
  home_->insist([cross_task = keep] { cross_task->resume_awaiting(); });
  ended_.store(true, std::memory_order_release);
  ended_.notify_all();
}

std::coroutine_handle<> CrossLoopTask::on_done() noexcept {
  ReadyQueue::run(*this);
  return std::noop_coroutine();
}

void CrossLoopTask::cancel_from_home(Why why) noexcept {
  const std::shared_ptr<CrossLoopTask> keep = shared_from_this();
  if (!away_->insist([cross_task = keep, why] { cross_task->cancel(why); })) {
    // The task's loop has refused the post that cancels the task, because that loop has begun to end. This thread waits
    // until the loop's thread has left the loop. If the task has not ended by then, this thread ends it. If this thread
    // itself is inside that loop, there is no other thread to wait for.
    if (away_->here() == nullptr) away_->wait_until_left();
    taken_ = !ended_.load(std::memory_order_acquire);
    cancel(why);
    if (taken_) return;
  }
  if (awaiting_resumed_) return;
  if (home_->open()) return cancel_when_home_ends();
  // The awaiting coroutine's loop has ended and runs no posts any more, so no post can report the end of the task.
  // Therefore this thread blocks until the task has ended.
  ended_.wait(false, std::memory_order_acquire);
  resume_awaiting();
}

// The function that is registered here runs when the awaiting coroutine's loop ends. The function cancels the task,
// because possibly no other code does so at that time, and waits for the task's end. If only this thread can run the
// task's loop, the function does nothing, because the wait would never end.
void CrossLoopTask::cancel_when_home_ends() noexcept {
  Loop* const home = home_->reachable();
  if (home == nullptr || std::exchange(registered_, true)) return;
  const auto at_the_end = [self = shared_from_this()] {
    const Mailbox& away = *self->away_;
    const bool ours = away.open() && (away.reachable() != nullptr || away.beside_a_step());
    if (!self->awaiting_resumed_ && !ours) self->cancel_from_home(why_of(Trouble::kLoopStopped));
  };
  home->keep(run_when_released(at_the_end, this));
}

void CrossLoopTask::resume_awaiting() noexcept {
  if (std::exchange(awaiting_resumed_, true)) return;
  if (Loop* const home = registered_ ? home_->reachable() : nullptr) home->let_go(this);
  waiting_.task_ended();
}

}  // namespace peal::detail
