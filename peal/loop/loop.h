// SPDX-License-Identifier: BSD-3-Clause
// Loop: one thread's event loop: an engine, a timing wheel and a mailbox.
//
// Whoever calls run() makes that thread the loop's. Everything here belongs to that thread, but for what is marked
// "any thread"; before run(), and after it, whoever has the loop may use it. A loop runs once.
//
// A turn: wait for events and dispatch them, fire the timers that are due, run the tasks that were posted. What tasks
// post runs in the next turn. An exception of a task, a timer, a watch or a signal's handler is logged, counted and
// survived; one that leaves an engine's callback ends the process.
//
// The end of run(): no task and no timer is taken any more, the tasks taken before run, the engine shuts (each owner of
// a stream, listener or watch hears so), what it keeps and the pending timers' closures die. All of it on the loop's
// thread, where anything here may still be called.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/log_limiter.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>
#include <peal/loop/mailbox.h>
#include <peal/loop/spin.h>
#include <peal/loop/timer_wheel.h>
#include <peal/observe/flight_recorder.h>
#include <peal/observe/turn_times.h>
#include <peal/observe/watched_thread.h>

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
struct LoopStats : StallCounts {
  uint64_t turns = 0;
  uint64_t tasks = 0;  // that were called; a signal's arrival is one
  uint64_t timers_fired = 0;
  uint64_t exceptions = 0;  // thrown by a task, a timer, a watch or a signal's handler, and survived
  uint64_t spins = 0;       // waits that spun first, the first poll having found nothing
  uint64_t spins_won = 0;   // of those, the ones that an event or a task ended
};

// Names one handler of one loop's signals. Late use does nothing; a default SignalId names none.
struct SignalId {
  uint64_t number = 0;

  bool operator==(const SignalId&) const = default;
};

class Loop {
 public:
  using Callback = Mailbox::Callback;

  // The engine of `options`; an engine that cannot run here is the world's error: Trouble::kUnsupportedEngine.
  static Result<std::unique_ptr<Loop>> make(const LoopOptions& options = {});
  // For an engine of one's own; also what make() calls.
  Loop(std::unique_ptr<Engine> engine, const LoopOptions& options);
  // Uses the engine "auto", which runs everywhere.
  Loop();
  // Not while a thread is inside run(): asserts. Tasks and timers still waiting die uncalled. The mailbox lives on.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(). Fails only when the engine cannot open; the loop has ended then too.
  Result<void> run();
  // Any thread; also before run(), which then returns at once. Takes effect after the current turn. The loop may be
  // destroyed before this returns.
  void stop();

  // Instead of run(), to drive several loops on one thread: begin(), step() repeatedly, then end(). Between steps it is
  // as before run(): its holder may touch it, and posts wait for the next step. Inside a step of one of them the others
  // are as another thread's: they may be posted to and not touched.
  Result<void> begin();
  // One turn. How much it did: events, timers and tasks. The turn after stop() is the end; later ones do nothing.
  size_t step();
  // Does nothing once the loop has ended.
  void end();

  // Any thread. See Mailbox::post.
  bool post(Callback task);
  // Any thread: at once on the loop's thread, where exceptions are the caller's; posted from another.
  bool run_in_loop(Callback task);
  // Any thread: is this the thread inside run()?
  bool in_loop() const { return mailbox_->here() != nullptr; }
  // Asserts that the caller may touch the loop's objects: on its thread, or while no thread is inside run() or a step.
  void assert_here() const;

  // Timers, 1 ms ticks, never early. `every` first fires after one period; one that is not
  // > 0 is refused, std::invalid_argument. Once the loop has begun to end the
  // answer names no timer and the task is dropped.
  TimerId after(Duration delay, Callback task);
  TimerId at(TimePoint deadline, Callback task);
  TimerId every(Duration period, Callback task);
  // True if it was pending; it will not fire any more, not even in this tick.
  bool cancel(TimerId timer);
  // False if it is not pending; a timer may re-arm itself from its own call. See TimerWheel::rearm.
  bool rearm(TimerId timer, TimePoint deadline);

  // The loop shares what it keeps: that dies on the loop's thread at its end, after the last tasks and before the
  // timers, what was kept last first, unless it was let go and nobody else has it. What is kept meanwhile dies at once
  // after. False once the loop has ended: not kept.
  bool keep(const std::shared_ptr<void>& what);
  // True if it was kept. Takes time that grows with how much is kept.
  bool let_go(const void* what);
  // The loop's only Kept, for all who ask: made as Kept(Loop&) by the first, and kept as keep() does.
  template <class Kept>
  std::shared_ptr<Kept> only();

  // Calls `task` on the loop whenever the process receives `signal_number`, instead of the signal's disposition until
  // now, which comes back with the last handler of that signal in the process; so does, if on the same thread, the mask
  // of the calling thread, where the signal is unblocked. Any number of handlers on any number of loops: each is
  // called, one loop's in the order they were added, until it is cancelled or its loop destroyed. Signals that arrive
  // before the handlers had their turn are coalesced into one call, as the kernel does with SIGCHLD: reap until no
  // child is left. What arrives before run() is heard in it. A fault of the program itself (SIGSEGV and its like sent
  // by the kernel) keeps its default effect. EINVAL: no signal, or one that cannot be caught; EMFILE and its like: no
  // fd left.
  Result<SignalId> on_signal(int signal_number, Callback task);
  // True if it was there; it will not be called any more. A handler may cancel itself.
  bool cancel(SignalId handler);
  // SIGINT and SIGTERM stop the loop.
  Result<void> stop_on_signals();

  // The time of this turn: read once after each wait, when somebody asks. Outside run(), the engine's clock.
  TimePoint now() { return now_known_ ? now_ : read_clock(); }
  Engine& engine() { return *engine_; }
  // What other threads, and things that may outlive the loop, keep.
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  const LoopStats& stats() const { return stats_; }
  size_t timers_pending() const { return wheel_ ? wheel_->size() : 0; }

  // From now on the loop's turns are timed; asked again, it goes on.
  void measure_turns();
  // Null until they are.
  const TurnTimes* turn_times() const { return turn_times_.get(); }

  // From now on there is one, of at least `events` events (FlightRecorder's limits); what an older one held is gone.
  void enable_flight_recorder(size_t events);
  // Null until it is enabled.
  FlightRecorder* flight_recorder() { return recorder_.get(); }

  // What the calling thread's loop is calling: "a task", "timers", ...; null: an engine's event, or nothing.
  // Async-signal-safe.
  static const char* running() { return detail::running.load(std::memory_order_relaxed); }

  // For StallWatchdog::watch().
  operator WatchedThread() { return {mailbox_, &stats_}; }  // NOLINT(google-explicit-constructor)

 private:
  friend class Watch;
  friend class detail::SignalWatch;

  void claim_thread();
  void turn() noexcept;
  void drop_kept_and_timers();
  void finish(bool opened) noexcept;
  void sleep();
  void wait_with_hooks();
  bool spin();
  void fire_timers();
  void run_tasks();
  void call_task(Callback& task);
  // Keeps an exception from ending the loop. `what` is static.
  template <class Function>
  void guard(const char* what, Function&& function);
  // Inside a handler.
  void log_exception(const char* thrower);
  TimePoint read_clock();
  TimePoint deadline_in(Duration delay);
  bool begin_timer_change();

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Mailbox> mailbox_;
  std::optional<TimerWheel> wheel_;  // none once the loop has ended
  TimePoint next_timer_ = kNever;    // as of the last look at the wheel: never later than the earliest timer then
  bool timers_changed_ = false;      // since then
  bool now_known_ = false;
  TimePoint now_;
  bool has_wait_hooks_ = false;               // one of the next two is there
  std::unique_ptr<detail::SpinPolicy> spin_;  // none: off
  std::unique_ptr<TurnTimes> turn_times_;
  std::vector<Callback> tasks_;              // of this turn
  std::vector<std::shared_ptr<void>> kept_;  // in the order of keep()
  std::map<std::type_index, std::weak_ptr<void>> only_;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<detail::SignalWatch> signals_;
  std::unique_ptr<FlightRecorder> recorder_;
  LogLimiter log_limiter_{std::chrono::seconds(1)};
  LoopStats stats_;
};

template <class Kept>
std::shared_ptr<Kept> Loop::only() {
  std::weak_ptr<void>& known = only_[typeid(Kept)];
  if (auto kept = std::static_pointer_cast<Kept>(known.lock())) return kept;
  auto made = std::make_shared<Kept>(*this);
  known = made;
  keep(made);
  return made;
}

template <class Function>
void Loop::guard(const char* what, Function&& function) {
  const char* const outer = running();
  detail::running.store(what, std::memory_order_relaxed);
  try {
    function();
  } catch (...) {
    log_exception(what);
  }
  detail::running.store(outer, std::memory_order_relaxed);
}

}  // namespace peal
