// SPDX-License-Identifier: BSD-3-Clause
// StallWatchdog finds callbacks that block a loop, and logs their stack while they do.
//
// How it works:
//   1. The watchdog's own thread posts a task to each loop. The task records that the loop has run it.
//   2. If a loop has not run the task within the threshold, the watchdog sends a signal to the loop's thread.
//   3. The signal handler takes the stack of whatever that thread is doing. The watchdog logs it.
//
// A loop that is not watched has no cost. A watched loop is woken twice in each threshold.
//
// The signal is SIGURG, which is ignored by default. The watchdog installs its handler at the start, and its destructor
// restores the earlier disposition. The signal interrupts the blocked thread. There, system calls that SA_RESTART does
// not restart (signal(7): poll, nanosleep, ...) fail with EINTR.
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

// A report about one blocked loop.
struct Stall {
  std::string thread_name;  // the name of the loop's thread
  pid_t thread_id = 0;      // the kernel id of the loop's thread

  // How long the watchdog's task had been waiting in the loop's queue when the stall was reported. The stall goes on
  // after that: LoopStats::longest_stall has its full length once it is over. The loop may also have been blocked for
  // up to half a threshold before the task was posted, if look() is called twice in each threshold.
  Duration lasting{};

  std::string what;   // the kind of callback that blocks the loop: "a task", "a timer", ...
  std::string stack;  // one line for each frame, innermost first, or a line that says why there is none
  TimePoint found{};  // when the watchdog found the stall, by its clock
};

// The options of a watchdog.
struct StallWatchdogOptions {
  // A loop is reported if it has not run the watchdog's task for this long; must be above 0. If look() is called twice
  // in each threshold, every stall of 1.5 times the threshold is found. A shorter stall is found only by chance. The
  // default is a delay that people notice.
  Duration threshold = std::chrono::milliseconds(100);

  // At most one stall is logged in this time, because a stack has many lines. The next log line says how many stalls
  // were not logged.
  Duration log_interval = std::chrono::seconds(1);

  // True if the watchdog starts a thread that calls look(). If false, the application has to call look().
  bool own_thread = true;

  // The function that returns the time. It must be callable on any thread.
  TimePoint (*clock)() = monotonic_now;
};

class StallWatchdog {
 public:
  // The callback for stalls. It is called once for each stall, while the loop is still blocked, on the thread that runs
  // look(). log_interval does not limit these calls. The callback must not throw and must not call look().
  using OnStall = Callback<void(const Stall&)>;

  // Starts a watchdog. It watches no loop until watch() is called, and logs a warning if that does not happen within a
  // second. Returns EBUSY if the process already has a watchdog, since one watchdog can watch all loops. Returns EAGAIN
  // if the thread cannot be started.
  static Result<std::unique_ptr<StallWatchdog>> start(const StallWatchdogOptions& options = {}, OnStall on_stall = {});

  // Stops the watchdog's thread and waits until it has ended. May be called on any thread except the watchdog's.
  ~StallWatchdog();
  StallWatchdog(const StallWatchdog&) = delete;
  StallWatchdog& operator=(const StallWatchdog&) = delete;

  // Watches a loop until the loop begins to end. The loop and the watchdog may be destroyed in any order. A loop that
  // has never run a task of the watchdog is not reported, for example before run(). LoopStats counts a stall when the
  // stall is over. Any thread.
  void watch(WatchedThread loop);

  // Checks all loops once. Posts a task to each loop that has run the previous task of the watchdog. Reports each loop
  // in whose queue the task has waited for the threshold or longer; a stall is reported once. The watchdog's thread
  // calls look() twice in each threshold. Any thread except those of the watched loops. The call takes up to a second
  // for each blocked thread that does not record its stack when it gets the watchdog's signal.
  void look();

  // Returns the latest stalls, at most kMostRemembered, oldest first. Any thread.
  std::vector<Stall> recent() const;
  static constexpr size_t kMostRemembered = 16;

 private:
  struct Watched;

  StallWatchdog(const StallWatchdogOptions& options, OnStall on_stall);

  // Notes the time and posts the watchdog's task to the loop.
  static void ask(const std::shared_ptr<Watched>& watched);

  // Takes the stack of the loop's thread, remembers the stall, logs it and calls on_stall_.
  void report(const Watched& watched, Duration lasting);

  const StallWatchdogOptions options_;
  OnStall on_stall_;
  std::mutex looking_;  // held during look(), taken before mutex_
  LogLimiter log_limiter_;
  const TimePoint started_;
  mutable std::mutex mutex_;
  bool unused_ = true;                             // watch() not called and no warning yet; guarded by mutex_
  std::vector<std::shared_ptr<Watched>> watched_;  // guarded by mutex_
  std::deque<Stall> recent_;                       // guarded by mutex_
  std::condition_variable_any stopping_;
  Thread thread_;
};

}  // namespace peal
