// SPDX-License-Identifier: BSD-3-Clause
// IdleTimer: calls a function when no activity was reported for a given time. It is used only on the thread of its
// loop, and cannot be moved.
//
// There are two ways to report activity. touch() only stores the new deadline, as peal's own idle timeout does. If the
// loop's timer fires before that deadline, the timer is set again. rearm() moves the loop's timer immediately, as other
// libraries do.
#pragma once

#include <cstdint>

#include <peal/base/callback.h>
#include <peal/loop/loop.h>

namespace peal::load {

class IdleTimer {
 public:
  // Starts the timer. `on_idle` is called each time that no activity was reported for the time `timeout`. The calls
  // continue until the IdleTimer is destroyed. Asserts that `timeout` > 0.
  IdleTimer(Loop& loop, Duration timeout, Callback<void()> on_idle);
  ~IdleTimer();
  IdleTimer(const IdleTimer&) = delete;
  IdleTimer& operator=(const IdleTimer&) = delete;

  // Reports activity at a low cost: only stores the new deadline, and does not move the loop's timer. The timer then
  // fires before the new deadline. When that happens, the timer is set to the new deadline, and `on_idle` is not
  // called.
  void touch() { deadline_ = loop_.now() + timeout_; }
  // Reports activity. Stores the new deadline and moves the loop's timer to the deadline.
  void rearm();
  // Reports activity. Stores the new deadline, cancels the loop's timer and starts a new one for this deadline. The
  // result is the same as with rearm(), but the loop's timer is a new one. A server does the same work when a client
  // leaves and another one connects.
  void restart();
  // Returns the time at which `on_idle` will be called, unless activity is reported before.
  TimePoint deadline() const { return deadline_; }

 private:
  void fire();

  Loop& loop_;
  const Duration timeout_;
  Callback<void()> on_idle_;
  TimePoint deadline_;
  TimerId timer_;
};

}  // namespace peal::load
