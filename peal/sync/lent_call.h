// SPDX-License-Identifier: BSD-3-Clause
// LentCall: calls a function in a coroutine's frame on another thread while the coroutine waits. The function may refer
// to that frame, because the wait ends only after the call has ended or if the call never begins:
// - If the coroutine is cancelled while the call is queued, the call is withdrawn and the wait ends at once.
// - If the call has begun, the wait ends after it. The end of the coroutine's loop waits for the call, too.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include <peal/coro/task.h>
#include <peal/loop/loop.h>

namespace peal::detail {

// One call, which the waiting coroutine and the queue of the other thread share. Either the other thread begins the
// call or the coroutine withdraws the call, never both.
class LentCall : public std::enable_shared_from_this<LentCall> {
 public:
  // The coroutine's wait for the call. A derived class also holds the function that is called. The Lender is a part of
  // the awaiting coroutine's frame.
  class Lender : public Wait {
   public:
    void cancel(Why why) noexcept override { call_->cancel(why); }
    // Makes the call. Called on the other thread.
    virtual void work() noexcept = 0;
    // Ends the wait with `why`. 0 means that the call was made.
    void call_ended(Why why) noexcept { complete(why); }

   protected:
    ~Lender() = default;
    std::shared_ptr<LentCall> call_;
  };

  // The entry in the other thread's queue. That thread calls the entry. If the entry is destroyed without being called,
  // the queue has dropped the call, and the wait ends with an error.
  class Ticket {
   public:
    explicit Ticket(std::shared_ptr<LentCall> call) : call_(std::move(call)) {}
    Ticket(Ticket&&) noexcept = default;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (call_) call_->drop();
    }
    void operator()() { std::exchange(call_, nullptr)->run(); }

   private:
    std::shared_ptr<LentCall> call_;
  };

  // Makes a LentCall for a coroutine on the loop `home`. If the queue drops the call, the wait fails with `dropped`.
  LentCall(Lender& lender, Loop& home, Why dropped) : lender_(lender), home_(home.mailbox()), dropped_(dropped) {}
  virtual ~LentCall() = default;
  LentCall(const LentCall&) = delete;
  LentCall& operator=(const LentCall&) = delete;

  // Marks the call as over, because the queue has refused the call. The caller of refuse() must end the wait itself.
  void refuse() { state_ = State::kOver; }
  // Cancels the wait. If the call has not begun, withdraws the call and ends the wait with `why`. If the call has
  // begun, the wait lasts until the call has ended. Called on the thread of the coroutine's loop.
  virtual void cancel(Why why) noexcept;

 protected:
  // Makes the call. Called on the other thread.
  virtual void work() noexcept { lender_.work(); }
  // Withdraws the call and returns true, if the call has not begun. Otherwise returns false.
  virtual bool withdraw() noexcept;

 private:
  enum class State : int { kQueued, kRunning, kOver };
  // The Ticket calls run() when the other thread calls the Ticket. The Ticket calls drop() when it is destroyed without
  // having been called.
  void run() noexcept;
  void drop() noexcept;
  // Ends the wait with `why`, unless the wait has ended before. Called on the thread of the coroutine's loop.
  void end_wait(Why why) noexcept;
  // Makes the coroutine's loop wait for the call when that loop ends.
  void cancel_when_home_ends() noexcept;

  Lender& lender_;
  const std::shared_ptr<Mailbox> home_;
  const Why dropped_;
  std::thread::id caller_;  // the thread that makes the call; set before `state_` is kRunning
  std::atomic<State> state_ = State::kQueued;
  bool wait_ended_ = false;  // true after end_wait(); used by the thread of the coroutine's loop
  bool registered_ = false;  // true if cancel_when_home_ends() has registered this; used by that loop's thread
};

}  // namespace peal::detail
