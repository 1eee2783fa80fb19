// SPDX-License-Identifier: BSD-3-Clause
// Loop: the event loop of one thread, built from an engine, a timing wheel and a mailbox.
//
// Threads: the thread that calls run() becomes the loop's thread. While run() is in progress, only that thread may call
// a function of the loop, except the functions marked "Any thread". Before run() and after run(), any one thread may
// use the loop. A loop runs only once.
//
// A turn has three steps:
//   1. wait for events and dispatch them;
//   2. fire the timers that are due;
//   3. run the tasks that were posted. Tasks that these tasks post run in the next turn.
// If a task, a timer, a watch or a signal's handler throws, the loop logs and counts the exception and continues. An
// exception that leaves an engine's callback ends the process.
//
// After stop(), run() ends on the loop's thread in this order:
//   1. the loop refuses new tasks and new timers;
//   2. the tasks posted before that run;
//   3. the engine shuts: the owner of each stream, listener and watch gets its last callback;
//   4. the loop releases the objects that keep() holds, then the closures of the pending timers.
// Code that runs in these steps may still call any function of the loop.
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
  std::string engine = "auto";  // a name that make_engine() accepts

  // Says whether and how the loop spins before it sleeps. Spinning is off by default, because a loop that spins takes
  // CPU time from other programs on the machine.
  Spin spin = {};

  // The largest number of posted tasks that may wait. When so many wait, post() returns false. Must be > 0.
  size_t post_limit = 1 << 16;
};

// Counters since the loop was made. They are plain integers, so only the loop's thread may read them while the
// loop runs.
struct LoopStats : StallCounts {
  uint64_t turns = 0;
  uint64_t tasks = 0;  // tasks that were called; each delivery of signals to this loop is one task
  uint64_t timers_fired = 0;
  uint64_t exceptions = 0;  // exceptions of tasks, timers, watches and signal handlers, all caught by the loop
  uint64_t spins = 0;       // waits that spun before they slept, because their first poll found no event
  uint64_t spins_won = 0;   // spins that ended because an event or a task arrived
};

// Identifies one handler that Loop::on_signal() has added. Cancelling a handler again has no effect. A default SignalId
// identifies no handler.
struct SignalId {
  uint64_t number = 0;

  bool operator==(const SignalId&) const = default;
};

class Loop {
 public:
  using Callback = Mailbox::Callback;

  // Makes a loop with the engine named in `options`. Returns Trouble::kUnsupportedEngine if this machine cannot run
  // that engine.
  static Result<std::unique_ptr<Loop>> make(const LoopOptions& options = {});
  // Makes a loop that uses the given engine. `options.engine` is ignored.
  Loop(std::unique_ptr<Engine> engine, const LoopOptions& options);
  // Makes a loop with the engine "auto", which runs on every machine.
  Loop();
  // Asserts that no thread is inside run() or a step of this loop. Destroys waiting tasks and pending timers without
  // calling them. The mailbox lives until its last shared_ptr is released.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs the loop until stop() is called. Returns an error only if the engine cannot be opened. In that case the
  // waiting tasks are destroyed without a call, and the loop has ended.
  Result<void> run();
  // Ends run() after the current turn. Any thread. If stop() is called before run(), run() returns without a turn. The
  // loop may be destroyed by another thread before stop() returns.
  void stop();

  // Opens the engine without running a turn. If the engine cannot be opened, returns its error, and the loop has ended.
  // begin(), repeated calls of step(), and end() replace run() if one thread drives several loops.
  // Between two steps the caller may call any function of the loop, and posted tasks wait for the next step. Inside a
  // step of one loop, the other stepped loops count as loops of another thread: code may post tasks to them but may not
  // touch them.
  Result<void> begin();
  // Runs one turn and returns how many events, timers and tasks it handled. The first step() after stop() ends the
  // loop. Does nothing and returns 0 if the loop has ended.
  size_t step();
  // Ends the loop in the order that run() follows after stop(). Does nothing if the loop has ended.
  void end();

  // Queues `task` for the loop's thread. Any thread. Returns false in the cases that Mailbox::post() lists.
  bool post(Callback task);
  // If this is the loop's thread, calls `task` at once, and exceptions of `task` reach the caller. Otherwise posts
  // `task` as post() does. Any thread.
  bool run_in_loop(Callback task);
  // True if the calling thread is inside run() or step() of this loop. Any thread.
  bool in_loop() const { return mailbox_->here() != nullptr; }
  // Asserts that the calling thread may touch the loop and its objects. That is so inside run() or step() of this loop,
  // and while no thread is inside them. It is not so inside a step of another loop if this loop is also driven with
  // step().
  void assert_here() const;

  // after() and at() add a timer that fires once. every() adds a timer that fires repeatedly, first after one period.
  // They return the timer's id. Timers have ticks of 1 ms and never fire early. every() throws std::invalid_argument if
  // `period` is not > 0. If the loop has begun to end, the functions destroy `task` and return a default TimerId.
  TimerId after(Duration delay, Callback task);
  TimerId at(TimePoint deadline, Callback task);
  TimerId every(Duration period, Callback task);

  // Cancels a timer. Returns true if the timer was pending: it will not fire, even if it is due in the current tick.
  bool cancel(TimerId timer);
  // Moves a pending timer to `deadline`. Returns false if the timer is not pending or the loop has begun to end. A
  // timer's own callback may call this for its timer, see TimerWheel::rearm().
  bool rearm(TimerId timer, TimePoint deadline);

  // Holds a reference to `what` until let_go() or the end of the loop. At the end, the loop's thread releases the held
  // objects: after the last tasks and before the timers, the newest object first. If keep() is called during this
  // release, the new object is released next. Returns false if the loop has ended or `what` is null.
  bool keep(const std::shared_ptr<void>& what);
  // Releases the reference that keep() took to the object at this address. Returns false if
  // keep() holds no such object. Searches all kept objects, so the cost is linear in their number.
  bool let_go(const void* what);
  // Returns this loop's only object of type Kept. The first call makes the object with the constructor Kept(Loop&) and
  // passes it to keep().
  template <class Kept>
  std::shared_ptr<Kept> only();

  // Calls `task` on the loop's thread whenever the process receives `signal_number`.
  //   - Disposition: the handler replaces the signal's disposition. When the last handler of this signal in the process
  //     is cancelled, the earlier disposition is restored.
  //   - Mask: the signal is unblocked in the calling thread. It is blocked again when the loop is destroyed, if the
  //     thread that destroys the loop is the one that called on_signal() first.
  //   - Several handlers: any number of loops may handle one signal, with any number of handlers. Every handler is
  //     called until it is cancelled or its loop is destroyed. The handlers of one loop are called in the order in
  //     which they were added.
  //   - Coalescing: if a signal arrives several times before its handlers run, they are called once, as the kernel does
  //     with SIGCHLD. So a SIGCHLD handler has to reap until no child is left.
  //   - A signal that arrives before run() is handled in run().
  //   - A SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGTRAP that the kernel sends for a fault keeps its default effect.
  // EINVAL: there is no such signal, or it cannot be caught. EMFILE, ENFILE, ENOMEM: no eventfd can be made.
  // Trouble::kLoopStopped: the loop has begun to end.
  Result<SignalId> on_signal(int signal_number, Callback task);
  // Removes a handler; a handler may remove itself. Returns true if the handler existed. After cancel() has returned,
  // the handler is not called again.
  bool cancel(SignalId handler);
  // Adds handlers for SIGINT and SIGTERM that call stop(). Returns the errors of on_signal().
  Result<void> stop_on_signals();

  // Returns the time of this turn. The first call after a wait reads the clock, and later calls return the same time
  // until the next wait. Outside run() and step() every call reads the engine's clock.
  TimePoint now() { return now_known_ ? now_ : read_clock(); }
  Engine& engine() { return *engine_; }
  // The queue of this loop's posted tasks. Other threads, and objects that may outlive the loop, hold the mailbox
  // instead of a reference to the loop.
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  const LoopStats& stats() const { return stats_; }
  size_t timers_pending() const { return wheel_ ? wheel_->size() : 0; }

  // Starts to measure how long each turn waits and works. A second call does nothing.
  void measure_turns();
  // Returns the measured times, or null if measure_turns() was never called.
  const TurnTimes* turn_times() const { return turn_times_.get(); }

  // Returns the time at which the wait of this turn ended. Returns now() if turns are not measured, or if the engine
  // does not tell when its waits end.
  TimePoint turn_began() { return turn_times_ && turn_times_->woke_at() != kNever ? turn_times_->woke_at() : now(); }

  // Calls tally->end_turn() at the end of each turn from now on. A loop that is driven by step() calls it at the end of
  // each step too. The loop calls it once more when it has ended. Measures turns, as measure_turns() does. The loop
  // holds a reference to the tally until remove_turn_tally(), or until the loop is destroyed. A tally must be added
  // only once.
  void add_turn_tally(const std::shared_ptr<TurnTally>& tally);
  // Ends the calls of tally.end_turn(). Does nothing if the loop does not have the tally.
  void remove_turn_tally(const TurnTally& tally);

  // Makes a flight recorder for at least `events` events; FlightRecorder states the limits. If the loop already has a
  // flight recorder, that one is destroyed with its events.
  void enable_flight_recorder(size_t events);
  // Returns the flight recorder, or null if enable_flight_recorder() was never called.
  FlightRecorder* flight_recorder() { return recorder_.get(); }

  // Returns the kind of callback that the calling thread runs in its loop: "a task", "a timer", "a watch" or "a
  // signal's handler". Returns null inside an engine's event and outside of all callbacks. Async-signal-safe.
  static const char* running() { return detail::running.load(std::memory_order_relaxed); }

  // Makes the argument of StallWatchdog::watch() for this loop.
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
  void end_turn_of_tallies();
  bool spin();
  void fire_timers();
  void run_tasks();
  void call_task(Callback& task);
  // Calls `function`. If `function` throws, the exception is logged and counted and does not reach the caller.
  // running() returns `what` during the call. `what` must be a string literal.
  template <class Function>
  void guard(const char* what, Function&& function);
  // Logs and counts the current exception. May be called only inside a catch block.
  void log_exception(const char* thrower);
  TimePoint read_clock();
  TimePoint deadline_in(Duration delay);
  bool begin_timer_change();

  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Mailbox> mailbox_;
  std::optional<TimerWheel> wheel_;  // nullopt after the loop has ended

  // The result of the last call of wheel_->next(). It is not later than the earliest timer that was pending then.
  TimePoint next_timer_ = kNever;
  bool timers_changed_ = false;  // true if timers may have changed since next_timer_ was computed

  bool now_known_ = false;  // true if now_ is the time of this turn
  TimePoint now_;
  bool has_wait_hooks_ = false;               // true if spin_ or turn_times_ is set
  std::unique_ptr<detail::SpinPolicy> spin_;  // null if the loop does not spin
  std::unique_ptr<TurnTimes> turn_times_;
  std::shared_ptr<TurnTally> tallies_;       // the first one
  std::vector<Callback> tasks_;              // the tasks of the current turn
  std::vector<std::shared_ptr<void>> kept_;  // the objects that keep() holds, in the order of the calls
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
