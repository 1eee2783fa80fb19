// SPDX-License-Identifier: BSD-3-Clause
// One atomic, `state_`, decides whether the task begins or is cancelled first. Only the loop's thread may remove a
// timer from the timer wheel. So cancel() on another thread posts that removal. The post ignores the mailbox's limit
// (Mailbox::insist()), so it is refused only by a loop that is about to drop its timers anyway. There is at most one
// such post for each task.
#include <peal/share/remote_task.h>

#include <atomic>
#include <utility>

#include <peal/base/bad_value.h>

namespace peal {

namespace detail {

class RemoteCall : public std::enable_shared_from_this<RemoteCall> {
 public:
  RemoteCall(Loop& loop, Duration period, Callback<void()> task)
      : mailbox_(loop.mailbox()), period_(period), task_(std::move(task)) {}

  static RemoteTask post(Loop& loop, Callback<void()> task);
  static RemoteTask time(Loop& loop, Duration delay, Duration period, Callback<void()> task);
  bool cancel();

 private:
  enum class State : int {
    kSent,     // in the loop's mailbox
    kArmed,    // in the loop's timer wheel
    kRunning,  // being called
    kLast,     // being called, and cancelled meanwhile
    kOver,     // called for the last time, cancelled or dropped
  };

  // The closure that the loop's mailbox or timer wheel holds. Its destructor destroys the task.
  struct Held {
    explicit Held(std::shared_ptr<RemoteCall> its_call) : call(std::move(its_call)) {}
    Held(Held&&) noexcept = default;
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (call) call->drop();
    }
    void operator()() const { call->run(); }

    std::shared_ptr<RemoteCall> call;
  };

  // Returns a handle of this task if the loop has accepted the task. Otherwise returns an empty handle.
  RemoteTask handle_if(bool accepted) { return accepted ? RemoteTask(shared_from_this()) : RemoteTask(); }
  // Puts the task into the timer wheel. Called on the loop's thread. Returns false if the task was cancelled or the
  // loop refuses the timer.
  bool arm(Held held, TimePoint first);
  // Calls the task and then after_run(). Does nothing if the task was cancelled.
  void run();
  // Called after each call of the task. A task of every_on() that was not cancelled stays in the timer wheel. Any other
  // task is marked as over.
  void after_run();
  // Removes the task from the timer wheel. May be called on any thread.
  void disarm();
  // Marks the task as over and destroys its function.
  void drop();

  const std::shared_ptr<Mailbox> mailbox_;
  const Duration period_;  // the period of every_on(); 0 for a task that is called once
  std::atomic<State> state_ = State::kSent;
  // After the task was posted, only the loop's thread uses `task_` and `timer_`.
  Callback<void()> task_;
  TimerId timer_;
};

RemoteTask RemoteCall::post(Loop& loop, Callback<void()> task) {
  const auto call = std::make_shared<RemoteCall>(loop, Duration{}, std::move(task));
  return call->handle_if(call->mailbox_->post(Held(call)));
}

RemoteTask RemoteCall::time(Loop& loop, Duration delay, Duration period, Callback<void()> task) {
  const auto call = std::make_shared<RemoteCall>(loop, period, std::move(task));
  const TimePoint first = later(loop.engine().now(), delay);
  if (call->mailbox_->here() != nullptr) return call->handle_if(call->arm(Held(call), first));
  return call->handle_if(
      call->mailbox_->post([held = Held(call), first]() mutable { held.call->arm(std::move(held), first); }));
}

bool RemoteCall::arm(Held held, TimePoint first) {
  State sent = State::kSent;
  if (!state_.compare_exchange_strong(sent, State::kArmed)) return false;
  const std::shared_ptr<RemoteCall> keep = shared_from_this();  // the loop may refuse `held` and so destroy it
  Loop& loop = *mailbox_->here();
  const bool repeats = period_ > Duration{};
  timer_ = repeats ? loop.every(period_, std::move(held)) : loop.at(first, std::move(held));
  if (repeats) loop.rearm(timer_, first);
  return static_cast<bool>(timer_);
}

void RemoteCall::run() {
  State waits = state_.load();
  do {
    if (waits == State::kOver) return;
  } while (!state_.compare_exchange_weak(waits, State::kRunning));
  struct AtEnd {
    ~AtEnd() { call.after_run(); }
    RemoteCall& call;
  };
  const AtEnd at_end{*this};
  task_();
}

void RemoteCall::after_run() {
  State expected = State::kRunning;
  if (period_ > Duration{} && state_.compare_exchange_strong(expected, State::kArmed)) return;
  state_ = State::kOver;
  mailbox_->here()->cancel(timer_);
}

bool RemoteCall::cancel() {
  State seen = state_.load();
  State next{};
  do {
    if (seen == State::kLast || seen == State::kOver) return false;
    next = seen == State::kRunning ? State::kLast : State::kOver;
  } while (!state_.compare_exchange_weak(seen, next));
  if (seen == State::kArmed) disarm();
  return seen != State::kRunning;
}

void RemoteCall::disarm() {
  if (Loop* loop = mailbox_->here()) {
    loop->cancel(timer_);
  } else {
    mailbox_->insist([call = shared_from_this()] { call->mailbox_->here()->cancel(call->timer_); });
  }
}

// Moves the function out of this object before destroying it, because destroying the function may release the last
// reference to this object.
void RemoteCall::drop() {
  state_ = State::kOver;
  const Callback<void()> dies = std::move(task_);
}

}  // namespace detail

bool RemoteTask::cancel() const { return call_ != nullptr && call_->cancel(); }

RemoteTask post_on(Loop& loop, Callback<void()> task) { return detail::RemoteCall::post(loop, std::move(task)); }

RemoteTask after_on(Loop& loop, Duration delay, Callback<void()> task) {
  return detail::RemoteCall::time(loop, delay, {}, std::move(task));
}

RemoteTask every_on(Loop& loop, Duration period, Callback<void()> task) {
  if (period <= Duration::zero()) throw_bad_value("a period of {} ns", period.count());
  return detail::RemoteCall::time(loop, period, period, std::move(task));
}

}  // namespace peal
