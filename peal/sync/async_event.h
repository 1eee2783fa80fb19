// SPDX-License-Identifier: BSD-3-Clause
// AsyncEvent: something that has happened, or not yet, among the tasks of one loop.
//
//   peal::AsyncEvent closing;
//   ... co_await closing.wait();          // any number of tasks
//   closing.set();                        // a callback may do so
//
// It stays set until reset(). Where each set() is to let one task go on, that is an AsyncSemaphore.
#pragma once

#include <peal/coro/task.h>

namespace peal {

class AsyncEvent {
 public:
  class [[nodiscard]] Waiting final : public detail::QueuedWait<Waiting> {
   public:
    explicit Waiting(AsyncEvent& event) : event_(event) {}
    bool await_ready() const { return event_.set_; }
    Result<void> await_resume() const { return detail::answer_of(why_); }
    detail::Wait& selectable() { return *this; }

   private:
    friend class AsyncEvent;
    friend class detail::QueuedWait<Waiting>;
    friend class detail::WaitList<Waiting>;
    detail::WaitList<Waiting>& line() { return event_.waiting_; }

    AsyncEvent& event_;
  };

  AsyncEvent() = default;
  ~AsyncEvent() { PEAL_ASSERT(waiting_.empty(), "an event is destroyed while tasks wait for it, set: {}", set_); }
  AsyncEvent(const AsyncEvent&) = delete;
  AsyncEvent& operator=(const AsyncEvent&) = delete;

  // Not at all when it is set.
  Waiting wait() { return Waiting(*this); }
  // Whoever waits goes on, even if it is reset before they do.
  void set() {
    const detail::ReadyQueue::Hold hold;
    set_ = true;
    while (Waiting* waiting = waiting_.pop_front()) waiting->complete(0);
  }
  void reset() { set_ = false; }
  bool is_set() const { return set_; }

 private:
  detail::WaitList<Waiting> waiting_;
  bool set_ = false;
};

}  // namespace peal
