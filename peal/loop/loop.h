// SPDX-License-Identifier: BSD-3-Clause
// Loop: one thread's event loop: an engine, a timing wheel and a mailbox.
//
// Whoever calls run() makes that thread the loop's. Everything here belongs to that thread, but for what is marked
// "any thread"; before run(), and after it, whoever has the loop may use it. A loop runs once.
//
// A turn: wait for events and dispatch them, fire the timers that are due, run the tasks that were posted. What tasks
// post runs in the next turn. An exception of a task, a timer or a signal's handler is logged, counted and survived;
// one that leaves an engine's callback ends the process.
//
// The end of run(): no task and no timer is taken any more, the tasks taken before run, the engine shuts (each owner of
// a stream, listener or watch hears so), the pending timers' closures die. All of it on the loop's thread, where
// anything here may still be called.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/log_limiter.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/loop/mailbox.h>
#include <peal/loop/spin.h>
#include <peal/loop/timer_wheel.h>

namespace peal {

namespace detail {
class SignalWatch;
class SpinPolicy;
}  // namespace detail

struct LoopOptions {
  std::string engine = "auto";  // as make_engine() takes it
  Spin spin = {};               // off: sleeping is what a shared machine expects
  size_t post_limit = 1 << 16;  // posted tasks that wait; beyond it post() refuses. > 0
};

// Plain counters since the loop was made; read on its thread.
struct LoopStats {
  uint64_t turns = 0;
  uint64_t tasks = 0;  // posted ones and signals' handlers that were called
  uint64_t timers_fired = 0;
  uint64_t exceptions = 0;  // thrown by a task, a timer or a signal's handler, and survived
  uint64_t spins = 0;       // waits that spun first, the first poll having found nothing
  uint64_t spins_won = 0;   // of those, the ones that an event or a task ended
};

class Loop {
 public:
  using Task = Mailbox::Task;

  // The engine of `options`; an engine that cannot run here is the world's error: Trouble::kUnsupportedEngine.
  static Result<std::unique_ptr<Loop>> make(const LoopOptions& options = {});
  // For an engine of one's own; also what make() calls.
  Loop(std::unique_ptr<Engine> engine, const LoopOptions& options);
  // The best engine here ("auto"), which always exists.
  Loop();
  // Not while a thread is inside run(): asserts. Tasks and timers still waiting die uncalled. The mailbox lives on.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(). Fails only when the engine cannot open; the loop has ended then too.
  Result<void> run();
  // Any thread; also before run(), which then returns at once. Takes effect after the current turn.
  void stop();

  // Any thread. See Mailbox::post.
  bool post(Task task) { return mailbox_->post(std::move(task)); }
  // Any thread: at once on the loop's thread, where exceptions are the caller's; posted from another.
  bool run_in_loop(Task task);
  // Any thread: is this the thread inside run()?
  bool in_loop() const { return mailbox_->here() != nullptr; }
  // Asserts that the caller may touch the loop's objects: on its thread, or while no thread is inside run().
  void assert_here() const;

  // Timers, 1 ms ticks, never early. `every` first fires after one period (> 0). Once the loop has begun to end the
  // answer names no timer and the task is dropped.
  TimerId after(Duration delay, Task task);
  TimerId at(TimePoint deadline, Task task);
  TimerId every(Duration period, Task task);
  // True if it was pending; it will not fire any more, not even in this tick.
  bool cancel(TimerId timer);
  // False if it is not pending; a timer may re-arm itself from its own call. See TimerWheel::rearm.
  bool rearm(TimerId timer, TimePoint deadline);

  // Calls `task` on the loop whenever the process receives `signal_number`, instead of the signal's default effect.
  // The signal is blocked in the calling thread and in threads started from it later: call it before starting threads.
  // One handler for each signal of each loop (EEXIST); of several loops with the same signal one hears of it. EINVAL:
  // no signal that can be caught; EMFILE and its like: no fd left. Undone when the loop is destroyed, the mask only if
  // by the thread that first called this; what arrived unread until then is dropped.
  Result<void> on_signal(int signal_number, Task task);
  // SIGINT and SIGTERM stop the loop.
  Result<void> stop_on_signals();

  // The time of this turn: read once after each wait, when somebody asks. Outside run(), the engine's clock.
  TimePoint now();
  Engine& engine() { return *engine_; }
  // What other threads, and things that may outlive the loop, keep.
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  const LoopStats& stats() const { return stats_; }

 private:
  void turn() noexcept;
  void finish(bool opened) noexcept;
  void sleep();
  void wait_awake();
  bool spin();
  void fire_timers();
  void run_tasks();
  void call(Task& task);
  // False if it threw.
  template <class Function>
  bool guard(const char* thrower, Function&& function);
  void survive(const char* thrower, const char* thrown);
  TimePoint deadline_in(Duration delay);
  bool takes_timers();

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Mailbox> mailbox_;
  std::optional<TimerWheel> wheel_;  // none once the loop has ended
  TimePoint next_timer_ = kNever;    // as of the last look at the wheel: never later than the earliest timer then
  bool timers_changed_ = false;      // since then
  bool now_known_ = false;
  TimePoint now_;
  std::unique_ptr<detail::SpinPolicy> spin_;  // none: off
  std::vector<Task> tasks_;                   // of this turn
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<detail::SignalWatch> signals_;
  LogLimiter log_limiter_{std::chrono::seconds(1)};
  LoopStats stats_;
};

}  // namespace peal
