// SPDX-License-Identifier: BSD-3-Clause
// AsyncEvent: a flag that coroutines of one loop wait for.
//
//   peal::AsyncEvent closing;
//   ... co_await closing.wait();          // any number of tasks
//   closing.set();                        // a callback may do so
//
// The event stays set until reset(). If each set() is to resume one coroutine only, use an AsyncSemaphore.
#pragma once

#include <peal/coro/task.h>

namespace peal {

class AsyncEvent {
 public:
  // The awaitable that wait() returns.
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

  // Waits until the event is set. If the event is set already, does not wait. The await returns Result<void>.
  Waiting wait() { return Waiting(*this); }
  // Sets the event. All coroutines that wait are resumed with success, even if reset() is called before they run.
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
