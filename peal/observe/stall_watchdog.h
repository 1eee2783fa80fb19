// SPDX-License-Identifier: BSD-3-Clause
// StallWatchdog: finds the callback that holds a loop, and says where it is while it does. A thread of its own asks
// each loop, through its queue, for a sign of life; a loop that has owed one for longer than the threshold is sent a
// signal, whose handler keeps the stack of whatever the loop's thread is doing; that is logged.
//
// It costs a loop that is not watched nothing, one that is two wake-ups in each threshold. The signal is SIGURG, which
// nothing dies of and whose disposition comes back with the watchdog's end. It interrupts the stalled thread: system
// calls that SA_RESTART does not restart (signal(7): poll, nanosleep, ...) fail with EINTR there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/base/log_limiter.h>
#include <peal/base/result.h>
#include <peal/base/thread/thread.h>
#include <peal/observe/watched_thread.h>

namespace peal {

struct Stall {
  std::string thread_name;  // the loop's
  pid_t thread_id = 0;      // the kernel's
  Duration lasting{};       // until now; a lower bound, it began up to half a threshold earlier
  std::string what;         // kind of callback: "a task", "a timer", ...
  std::string stack;        // a line a frame, innermost first; says so if it could not be had
  TimePoint found{};        // by the watchdog's clock
};

struct StallWatchdogOptions {
  Duration threshold = std::chrono::milliseconds(100);  // a human notices; > 0. Half as much again is always found
  Duration log_interval = std::chrono::seconds(1);      // at most one log line in this time: a stack is many lines
  bool own_thread = true;                               // false: somebody calls look() instead
  TimePoint (*clock)() = monotonic_now;                 // any thread
};

class StallWatchdog {
 public:
  // Called inside look(), once a stall, while it lasts; at no bounded rate. Must not throw, nor call look().
  using OnStall = Callback<void(const Stall&)>;

  // EBUSY: the process has one already, which can watch many loops. EAGAIN: no thread left. It watches nothing before
  // watch() is called, and says so in the log when nobody has called it within a second.
  static Result<std::unique_ptr<StallWatchdog>> start(const StallWatchdogOptions& options = {}, OnStall on_stall = {});
  // Any thread but its own.
  ~StallWatchdog();
  StallWatchdog(const StallWatchdog&) = delete;
  StallWatchdog& operator=(const StallWatchdog&) = delete;

  // Any thread. Until the loop ends; it may be destroyed before the watchdog, and the watchdog before it. A loop that
  // has not answered once, as one that does not run yet, is never held to stall. Stalls are counted in LoopStats once
  // they are over.
  void watch(WatchedThread loop);
  // One round over all loops: asks those that owe no answer, reports those that owe one for too long. It is what the
  // watchdog's thread does twice in each threshold. Any thread that is no loop's of these. It takes up to a second for
  // each stalled thread that cannot be interrupted.
  void look();
  // The last kMostRemembered stalls, oldest first. Any thread.
  std::vector<Stall> recent() const;
  static constexpr size_t kMostRemembered = 16;

 private:
  struct Watched;

  StallWatchdog(const StallWatchdogOptions& options, OnStall on_stall);
  static void ask(const std::shared_ptr<Watched>& watched);
  void report(const Watched& watched, Duration lasting);

  const StallWatchdogOptions options_;
  OnStall on_stall_;
  std::mutex looking_;  // held during look(), taken before mutex_
  LogLimiter log_limiter_;
  const TimePoint started_;
  mutable std::mutex mutex_;
  bool unused_ = true;                             // no watch() yet, and that has not been said; guarded by mutex_
  std::vector<std::shared_ptr<Watched>> watched_;  // guarded by mutex_
  std::deque<Stall> recent_;                       // guarded by mutex_
  std::condition_variable_any stopping_;
  Thread thread_;
};

}  // namespace peal
