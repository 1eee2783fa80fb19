// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/idle_timer.h>

#include <utility>

#include <peal/base/assert.h>

namespace peal::load {

IdleTimer::IdleTimer(Loop& loop, Duration timeout, Callback<void()> on_idle)
    : loop_(loop), timeout_(timeout), on_idle_(std::move(on_idle)) {
  PEAL_ASSERT(timeout > Duration::zero() && on_idle_, "an idle timer of {} ns, or without a callback", timeout.count());
  restart();
}

IdleTimer::~IdleTimer() { loop_.cancel(timer_); }

void IdleTimer::rearm() {
  touch();
  loop_.rearm(timer_, deadline_);
}

void IdleTimer::restart() {
  loop_.cancel(timer_);
  touch();
  timer_ = loop_.at(deadline_, [this] { fire(); });
}

void IdleTimer::fire() {
  const bool idle = loop_.now() >= deadline_;
  if (idle) touch();
  loop_.rearm(timer_, deadline_);
  if (idle) on_idle_();
}

}  // namespace peal::load
