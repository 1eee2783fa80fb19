// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/lent_call.h>

#include <peal/base/assert.h>
#include <peal/base/memory/when_released.h>

namespace peal::detail {

void LentCall::run() noexcept {
  caller_ = std::this_thread::get_id();
  State queued = State::kQueued;
  if (!state_.compare_exchange_strong(queued, State::kRunning)) return;
  work();
  // The coroutine's loop refuses this post if that loop has ended. In that case cancel() waits for `state_` and needs
  // no post.
  home_->insist([call = shared_from_this()] { call->end_wait(0); });
  state_.store(State::kOver, std::memory_order_release);
  state_.notify_all();
}

bool LentCall::withdraw() noexcept {
  State queued = State::kQueued;
  return state_.compare_exchange_strong(queued, State::kOver);
}

void LentCall::drop() noexcept {
  if (!withdraw()) return;
  home_->insist([call = shared_from_this()] { call->end_wait(call->dropped_); });
}

void LentCall::end_wait(Why why) noexcept {
  if (std::exchange(wait_ended_, true)) return;
  if (Loop* const home = registered_ ? home_->reachable() : nullptr) home->let_go(this);
  lender_.call_ended(why);
}

void LentCall::cancel(Why why) noexcept {
  const std::shared_ptr<LentCall> self = shared_from_this();
  if (withdraw()) return end_wait(why);
  if (wait_ended_) return;
  if (home_->open()) return cancel_when_home_ends();
  // The coroutine's loop has ended and runs no more posts. So this thread waits here until the call has ended.
  PEAL_ASSERT(state_ != State::kRunning || caller_ != std::this_thread::get_id(),
              "a loop is ended by a call that one of its own tasks waits for; {} posts wait in the loop",
              home_->waiting());
  state_.wait(State::kRunning, std::memory_order_acquire);
  end_wait(why);
}

// Registers a function that waits for the call when the coroutine's loop ends. Without it, possibly no other code would
// wait for the call at that time.
void LentCall::cancel_when_home_ends() noexcept {
  Loop* const home = home_->reachable();
  if (home == nullptr || std::exchange(registered_, true)) return;
  const auto at_the_end = [self = shared_from_this()] { self->cancel(why_of(Trouble::kLoopStopped)); };
  home->keep(run_when_released(at_the_end, this));
}

}  // namespace peal::detail
