// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/run_on.h>

namespace peal::detail {

bool Errand::send() {
  return away_->post([errand = shared_from_this()] { Ready::run(*errand); });
}

// On the away loop: when it is to begin, and again when it has ended.
void Errand::run() noexcept {
  if (!std::exchange(begun_, true)) {
    promise_.belong(*this, nullptr);
    return task_.resume();
  }
  if (taken_) {
    told_ = true;
    return waiting_.back();
  }
  const std::shared_ptr<Errand> keep = shared_from_this();
  // Refused: the home loop has ended, and cancel_from_home() looks.
  home_->insist([errand = keep] {
    if (!std::exchange(errand->told_, true)) errand->waiting_.back();
  });
  ended_.store(true, std::memory_order_release);
  ended_.notify_all();
}

std::coroutine_handle<> Errand::on_done() noexcept {
  Ready::run(*this);
  return std::noop_coroutine();
}

void Errand::cancel_from_home(Why why) noexcept {
  const std::shared_ptr<Errand> keep = shared_from_this();
  if (!away_->insist([errand = keep, why] { errand->cancel(why); })) {
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
