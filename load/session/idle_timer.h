// SPDX-License-Identifier: BSD-3-Clause
// IdleTimer: tells when nothing has happened for a while. One loop's thread; its owner keeps it where it is.
//
// As peal's own idle timeout it may be touched: activity stores a time, and the timer, when it fires, moves itself to
// where the last activity puts it. Or the timer itself is moved at once, which is what other libraries do.
#pragma once

#include <cstdint>

#include <peal/base/callback.h>
#include <peal/loop/loop.h>

namespace peal::load {

class IdleTimer {
 public:
  // Starts at once. `on_idle` is called after each `timeout` of silence, until the timer's end; timeout > 0.
  IdleTimer(Loop& loop, Duration timeout, Callback<void()> on_idle);
  ~IdleTimer();
  IdleTimer(const IdleTimer&) = delete;
  IdleTimer& operator=(const IdleTimer&) = delete;

  // Something happened: one store.
  void touch() { deadline_ = loop_.now() + timeout_; }
  // Something happened: the loop's timer is moved.
  void rearm();
  // Begins anew with another timer of the loop's.
  void restart();
  // When it will have been silent for too long, if nothing happens.
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
