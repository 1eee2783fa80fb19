// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/lent_call.h>

namespace peal::detail {

void LentCall::run() noexcept {
  State queued = State::kQueued;
  if (!state_.compare_exchange_strong(queued, State::kRunning)) return;
  work();
  // Refused: the home loop has ended, and cancel() looks.
  home_->insist([call = shared_from_this()] { call->tell(0); });
  state_.store(State::kOver, std::memory_order_release);
  state_.notify_all();
}

bool LentCall::withdraw() noexcept {
  State queued = State::kQueued;
  return state_.compare_exchange_strong(queued, State::kOver);
}

void LentCall::drop() noexcept {
  if (!withdraw()) return;
  home_->insist([call = shared_from_this()] { call->tell(call->dropped_); });
}

void LentCall::tell(Why why) noexcept {
  if (!std::exchange(told_, true)) lender_.over(why);
}

void LentCall::cancel(Why why) noexcept {
  const std::shared_ptr<LentCall> keep = shared_from_this();
  if (withdraw()) return tell(why);
  if (home_->open() || told_) return;
  // Nobody can be told on a loop that has ended; so wait.
  state_.wait(State::kRunning, std::memory_order_acquire);
  tell(why);
}

}  // namespace peal::detail
