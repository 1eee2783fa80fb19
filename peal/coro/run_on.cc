// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/run_on.h>

namespace peal::detail {

bool CrossLoopTask::send() {
  return away_->post([cross_task = shared_from_this()] { ReadyQueue::run(*cross_task); });
}

// On the away loop: when it is to begin, and again when it has ended.
void CrossLoopTask::run() noexcept {
  if (!std::exchange(begun_, true)) {
    promise_.belong(*this, nullptr);
    return task_.resume();
  }
  if (taken_) {
    told_ = true;
    return waiting_.back();
  }
  const std::shared_ptr<CrossLoopTask> keep = shared_from_this();
  // Refused: the home loop has ended, and cancel_from_home() looks.
  home_->insist([cross_task = keep] {
    if (!std::exchange(cross_task->told_, true)) cross_task->waiting_.back();
  });
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
    // The away loop has ended without ending the task: it is ours now.
    away_->wait_until_left();
    taken_ = !ended_.load(std::memory_order_acquire);
    cancel(why);
    if (taken_) return;
  }
  if (home_->open() || told_) return;
  // Nobody can be told on a loop that has ended; so wait.
  told_ = true;
  ended_.wait(false, std::memory_order_acquire);
  waiting_.back();
}

}  // namespace peal::detail
