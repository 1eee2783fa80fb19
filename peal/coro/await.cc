// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/await.h>

#include <bit>
#include <cerrno>

#include <peal/loop/loop.h>

namespace peal::detail {

void ReadyQueue::push(Runnable& what) {
  what.next_ready = nullptr;
  if (first_ == nullptr) {
    first_ = &what;
  } else {
    last_->next_ready = &what;
  }
  last_ = &what;
}

void ReadyQueue::drain() {
  while (Runnable* next = first_) {
    first_ = next->next_ready;
    next->run();
  }
}

void Strand::cancel(Why why) noexcept {
  if (cancelled_ == 0 || why == why_of(Trouble::kLoopStopped)) cancelled_ = why;
  if (waiting_ != nullptr) waiting_->cancel(cancelled_);
}

// The closure of a deadline's timer, stored in the loop's timer wheel. When the deadline passes, the timer calls the
// closure, which cancels the wait with ETIMEDOUT. If the loop ends before the deadline, the loop destroys the closure,
// and the destructor cancels the wait with Trouble::kLoopStopped. The closure does nothing if the wait has ended.
struct Wait::Alarm {
  explicit Alarm(Wait& its_wait) : wait(&its_wait) {}
  Alarm(Alarm&& other) noexcept : wait(std::exchange(other.wait, nullptr)) {}
  Alarm& operator=(Alarm&&) = delete;
  ~Alarm() {
    if (wait != nullptr) ring(why_of(Trouble::kLoopStopped));
  }
  void operator()() { ring(ETIMEDOUT); }
  void ring(Why why) noexcept {
    Wait* rung = std::exchange(wait, nullptr);
    if (rung == nullptr || !rung->timed()) return;
    rung->marks_ &= ~kTimed;
    rung->cancel(why);
  }

  Wait* wait;
};

bool Wait::begin_timed_or_cancelled() {
  why_ = strand_->cancelled();
  if (why_ == 0) return arm();
  marks_ &= ~kTimed;
  return false;
}

// If the wait's chain of awaits was cancelled with Trouble::kLoopStopped, arm() does not use the Loop object, because
// the object may have been destroyed.
bool Wait::arm() {
  const Duration timeout(timing_);
  marks_ &= ~kTimed;
  const Why cancelled = strand_->cancelled();
  const bool stopped = cancelled != 0 && cancelled == why_of(Trouble::kLoopStopped);
  const TimerId timer = stopped ? TimerId{} : strand_->loop().after(timeout, Alarm(*this));
  if (!timer) {
    why_ = why_of(Trouble::kLoopStopped);
    return false;
  }
  timing_ = std::bit_cast<int64_t>(timer);
  marks_ |= kTimed;
  strand_->wait_in(this);
  return true;
}

void Wait::complete_timed_or_selected() noexcept {
  const bool was_selected = selected();
  marks_ &= ~kSelected;
  end();
  if (!was_selected) return ReadyQueue::run(*this);
  strand_->on_done();
}

void Wait::disarm() noexcept {
  marks_ &= ~kTimed;
  strand_->loop().cancel(std::bit_cast<TimerId>(timing_));
}

}  // namespace peal::detail
