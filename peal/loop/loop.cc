// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/loop.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>
#include <peal/engine/engines.h>
#include <peal/loop/parts/signal_watch.h>
#include <peal/loop/parts/spin_policy.h>

namespace peal {

// The capacity that the task vector may keep after a turn. A larger capacity, which a burst of tasks has left, is
// freed.
static constexpr size_t kMaxWarmTasks = 1024;

Result<std::unique_ptr<Loop>> Loop::make(const LoopOptions& options) {
  Result<std::unique_ptr<Engine>> engine = make_engine(options.engine);
  if (!engine) return std::unexpected(engine.error());
  return std::make_unique<Loop>(std::move(*engine), options);
}

Loop::Loop() : Loop(make_engine("auto").value(), LoopOptions{}) {}

Loop::Loop(std::unique_ptr<Engine> engine, const LoopOptions& options)
    : engine_(std::move(engine)),
      mailbox_(std::make_shared<Mailbox>(this, engine_->waker(), options.post_limit)),
      wheel_(engine_->now()) {
  if (options.spin.mode == Spin::Mode::kOff) return;
  spin_ = std::make_unique<detail::SpinPolicy>(options.spin);
  has_wait_hooks_ = true;
}

Loop::~Loop() {
  PEAL_ASSERT(mailbox_->owner_.load() == std::thread::id(), "a loop is destroyed while a thread runs it, in turn {}",
              stats_.turns);
  mailbox_->close().clear();
  drop_kept_and_timers();
}

// Waits for events until the next timer, or only polls if a posted task is pending.
inline void Loop::sleep() {
  now_known_ = false;
  TimePoint deadline = next_timer_;
  if (!mailbox_->begin_sleep()) [[unlikely]]
    deadline = Engine::kPollOnly;
  engine_->wait(deadline);
  mailbox_->end_sleep();
}

// Runs one turn. The function is noexcept, because an exception must not unwind through an engine in the middle of its
// dispatch. Such an exception ends the process here, where the core dump still shows the whole stack.
[[gnu::always_inline]] inline void Loop::turn() noexcept {
  ++stats_.turns;
  if (timers_changed_) {
    timers_changed_ = false;
    next_timer_ = wheel_->next();
  }
  if (has_wait_hooks_) {
    wait_with_hooks();
  } else {
    sleep();
  }
  if (next_timer_ != kNever) fire_timers();
  if (mailbox_->pending()) run_tasks();
}

// Makes the calling thread the loop's thread. Asserts that no thread runs the loop and that the loop has not ended.
void Loop::claim_thread() {
  std::thread::id none;
  const bool mine = mailbox_->owner_.compare_exchange_strong(none, std::this_thread::get_id());
  PEAL_ASSERT(mine && mailbox_->open(), "a loop runs once; this one {}", mine ? "has ended" : "is running");
}

Result<void> Loop::run() {
  claim_thread();
  const Result<void> opened = engine_->open();
  if (opened) {
    if (signals_) signals_->attach();
    while (!stopping_.load(std::memory_order_acquire)) turn();
  }
  finish(opened.has_value());
  return opened;
}

Result<void> Loop::begin() {
  claim_thread();
  const Result<void> opened = engine_->open();
  if (!opened) {
    finish(false);
    return opened;
  }
  if (signals_) signals_->attach();
  mailbox_->stepped_.store(true, std::memory_order_relaxed);
  mailbox_->owner_.store(std::thread::id(), std::memory_order_release);
  return opened;
}

size_t Loop::step() {
  if (!mailbox_->open()) return 0;
  auto done = [this] { return engine_->stats().events + stats_.timers_fired + stats_.tasks; };
  const uint64_t before = done();
  claim_thread();
  const Mailbox* const outer = std::exchange(Mailbox::stepping, mailbox_.get());
  if (stopping_.load(std::memory_order_acquire)) {
    finish(true);
  } else {
    turn();
    end_turn_of_tallies();
    now_known_ = false;
    mailbox_->owner_.store(std::thread::id(), std::memory_order_release);
  }
  Mailbox::stepping = outer;
  return done() - before;
}

void Loop::end() {
  if (!mailbox_->open()) return;
  claim_thread();
  finish(true);
}

// The local copy keeps the mailbox alive. As soon as stopping_ is set, the loop's thread may end and destroy the loop.
void Loop::stop() {
  const std::shared_ptr<Mailbox> mailbox = mailbox_;
  stopping_.store(true, std::memory_order_release);
  mailbox->mark_pending_and_wake();
}

// The local copy keeps the mailbox alive. The posted task may end the loop, which may then be destroyed before post()
// returns.
bool Loop::post(Callback task) {
  const std::shared_ptr<Mailbox> mailbox = mailbox_;
  return mailbox->post(std::move(task));
}

bool Loop::run_in_loop(Callback task) {
  if (!in_loop()) return post(std::move(task));
  task();
  return true;
}

void Loop::assert_here() const {
  const std::thread::id owner = mailbox_->owner_.load(std::memory_order_relaxed);
  PEAL_ASSERT(owner == std::this_thread::get_id() || (owner == std::thread::id() && !mailbox_->beside_a_step()),
              "another thread's loop is touched, in its turn {}", stats_.turns);
}

TimerId Loop::after(Duration delay, Callback task) { return at(deadline_in(delay), std::move(task)); }

TimerId Loop::at(TimePoint deadline, Callback task) {
  if (!begin_timer_change()) return {};
  return wheel_->add(deadline, std::move(task));
}

TimerId Loop::every(Duration period, Callback task) {
  if (!begin_timer_change()) return {};
  return wheel_->add_every(deadline_in(period), period, std::move(task));
}

// next_timer_ is not updated here. After a cancel, next_timer_ may be earlier than every pending timer, which costs one
// turn without work. It is never too late.
bool Loop::cancel(TimerId timer) {
  assert_here();
  return wheel_ && wheel_->cancel(timer);
}

bool Loop::rearm(TimerId timer, TimePoint deadline) { return begin_timer_change() && wheel_->rearm(timer, deadline); }

bool Loop::keep(const std::shared_ptr<void>& what) {
  assert_here();
  if (!wheel_) return false;
  return kept_.emplace_back(what) != nullptr;
}

// The object is removed from kept_ before it is destroyed, since its destructor may call keep() and let_go().
bool Loop::let_go(const void* what) {
  assert_here();
  const auto found = std::ranges::find(kept_, what, &std::shared_ptr<void>::get);
  if (found == kept_.end()) return false;
  const std::shared_ptr<void> gone = std::move(*found);
  kept_.erase(found);
  return true;
}

Result<SignalId> Loop::on_signal(int signal_number, Callback task) {
  assert_here();
  if (!mailbox_->open()) return fail(Trouble::kLoopStopped);
  if (!signals_) signals_ = std::make_unique<detail::SignalWatch>(*this);
  Result<SignalId> added = signals_->add(signal_number, std::move(task));
  if (added && in_loop()) signals_->attach();
  return added;
}

bool Loop::cancel(SignalId handler) {
  assert_here();
  return signals_ && signals_->cancel(handler);
}

Result<void> Loop::stop_on_signals() {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    if (const auto added = on_signal(signal_number, [this] { stop(); }); !added) return std::unexpected(added.error());
  }
  return {};
}

void Loop::enable_flight_recorder(size_t events) {
  assert_here();
  using TimeBy = FlightRecorder::TimeBy;
  recorder_ = std::make_unique<FlightRecorder>(events, engine_->keeps_real_time() ? TimeBy::kCycles : TimeBy::kAsking);
}

void Loop::measure_turns() {
  assert_here();
  if (turn_times_) return;
  turn_times_ = std::make_unique<TurnTimes>();
  engine_->note_waits(turn_times_->woke_at(), turn_times_->worked());
  has_wait_hooks_ = true;
}

void Loop::add_turn_tally(const std::shared_ptr<TurnTally>& tally) {
  measure_turns();
  tally->next = std::move(tallies_);
  tallies_ = tally;
}

void Loop::remove_turn_tally(const TurnTally& tally) {
  assert_here();
  std::shared_ptr<TurnTally>* at = &tallies_;
  while (*at && at->get() != &tally) at = &(*at)->next;
  if (*at) *at = std::exchange((*at)->next, nullptr);
}

// The wheel is destroyed last, because the destructors of kept objects and of closures may still cancel timers.
void Loop::drop_kept_and_timers() {
  while (!kept_.empty()) {
    const std::shared_ptr<void> last = std::move(kept_.back());
    kept_.pop_back();
  }
  if (wheel_) wheel_->cancel_all();
  wheel_.reset();
}

// Ends the loop in the order that loop.h states. If `opened` is false, the engine is not open, and the waiting tasks
// are destroyed without a call.
void Loop::finish(bool opened) noexcept {
  std::vector<Callback> last = mailbox_->close();
  if (opened) {
    for (Callback& task : last) call_task(task);
    engine_->shut();
    end_turn_of_tallies();
    const uint64_t lost_bytes = engine_->stats().lost_bytes;
    if (lost_bytes > 0) PEAL_LOG_DEBUG("a loop ended with {} bytes of output unsent", lost_bytes);
  }
  last.clear();
  drop_kept_and_timers();
  now_known_ = false;
  // The local copy keeps the mailbox alive. As soon as owner_ is cleared, another thread may destroy the loop.
  const std::shared_ptr<Mailbox> mailbox = mailbox_;
  mailbox->owner_.store(std::thread::id(), std::memory_order_release);
  mailbox->owner_.notify_all();
}

// Called where no further turn begins at once.
void Loop::end_turn_of_tallies() {
  if (!tallies_) return;
  const TimePoint now = engine_->now();
  const size_t bucket = turn_times_->bucket_at(now);
  for (TurnTally* tally = tallies_.get(); tally != nullptr; tally = tally->next.get()) tally->end_turn(bucket, now);
}

void Loop::wait_with_hooks() {
  if (turn_times_) {
    const TimePoint now = engine_->now();
    const size_t bucket = turn_times_->begin_turn(now);
    for (TurnTally* tally = tallies_.get(); tally != nullptr; tally = tally->next.get()) tally->end_turn(bucket, now);
  }
  const bool spins = spin_ && spin_->should_spin();
  if (spins && spin()) return;
  if (spins || !spin_) {
    sleep();
    return;
  }
  // Measures this sleep, so that the policy learns whether a spin would have been better.
  const TimePoint begin = engine_->now();
  sleep();
  spin_->note_sleep(now() - begin);
}

// Polls up to the spin's bound. Returns true if an event or a task arrived. The first poll comes before the first clock
// read: in a busy loop it finds an event, so the clock is not read.
bool Loop::spin() {
  now_known_ = false;
  if (engine_->wait(Engine::kPollOnly) > 0 || mailbox_->pending()) return true;
  ++stats_.spins;
  const TimePoint end = std::min(later(engine_->now(), spin_->bound()), next_timer_);
  for (int64_t polls = 1; polls < spin_->max_polls() && engine_->now() < end; ++polls) {
    now_known_ = false;
    if (engine_->wait(Engine::kPollOnly) == 0 && !mailbox_->pending()) continue;
    ++stats_.spins_won;
    spin_->note_spin(true);
    return true;
  }
  // If a timer has ended the spin, the spin says nothing about how soon events arrive, so the policy does not count it.
  if (end < next_timer_) spin_->note_spin(false);
  return false;
}

// If a timer throws, the remaining due timers fire in the next turn, which does not sleep. Firing them here in a loop
// would never end with a timer that re-arms itself and throws.
void Loop::fire_timers() {
  if (now() < next_timer_) return;
  timers_changed_ = true;
  guard("a timer", [this] { wheel_->advance(now()); });
  stats_.timers_fired = wheel_->fired();
}

void Loop::run_tasks() {
  mailbox_->swap_tasks(tasks_);
  for (Callback& task : tasks_) {
    call_task(task);
    task = nullptr;
  }
  tasks_.clear();
  if (tasks_.capacity() > kMaxWarmTasks) std::vector<Callback>().swap(tasks_);
}

void Loop::call_task(Callback& task) {
  ++stats_.tasks;
  guard("a task", task);
}

void Loop::log_exception(const char* thrower) {
  ++stats_.exceptions;
  if (const auto suppressed = log_limiter_.admit(engine_->now())) {
    PEAL_LOG_ERROR("{} threw: {} ({} more since the last such line)", thrower, what_was_thrown(), *suppressed);
  }
}

TimePoint Loop::read_clock() {
  now_ = engine_->now();
  now_known_ = in_loop();
  return now_;
}

// The deadline is computed from the clock and not from the turn's time. Late in a long turn, the turn's time would make
// the timer fire early.
TimePoint Loop::deadline_in(Duration delay) { return later(engine_->now(), delay); }

// Returns true if timers may be added or moved. Makes the next turn ask the wheel for its earliest timer again.
bool Loop::begin_timer_change() {
  assert_here();
  timers_changed_ = true;
  return mailbox_->open();
}

}  // namespace peal
