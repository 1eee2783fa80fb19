// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/run_on.h>

#include <peal/base/memory/when_released.h>

namespace peal::detail {

bool CrossLoopTask::send() {
  return away_->post([cross_task = shared_from_this()] { ReadyQueue::run(*cross_task); });
}

// Called twice on the thread of the task's loop: to begin the task, and when the task has ended.
void CrossLoopTask::run() noexcept {
  if (!std::exchange(begun_, true)) {
    promise_.belong(*this, nullptr);
    return task_.resume();
  }
  if (taken_) return resume_awaiting();
  const std::shared_ptr<CrossLoopTask> keep = shared_from_this();
  // The awaiting coroutine's loop refuses this post if that loop has ended. In that case cancel_from_home() waits for
  // `ended_` and needs no post.
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
    // The task's loop has ended without ending the task, so this thread ends the task. Before that, it waits until the
    // other thread has left the loop. If this thread itself runs the loop, the loop is ending now and there is no other
    // thread to wait for.
    if (away_->here() == nullptr) away_->wait_until_left();
    taken_ = !ended_.load(std::memory_order_acquire);
    cancel(why);
    if (taken_) return;
  }
  if (awaiting_resumed_) return;
  if (home_->open()) return cancel_when_home_ends();
  // The awaiting coroutine's loop has ended and runs no more posts. So this thread waits here until the task has ended.
  ended_.wait(false, std::memory_order_acquire);
  resume_awaiting();
}

// Makes the end of the awaiting coroutine's loop cancel the task, because possibly no other code would cancel the task
// at that time. If only this thread can run the task's loop, the task is not cancelled then: the wait for its end would
// last for ever.
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
