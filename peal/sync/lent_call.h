// SPDX-License-Identifier: BSD-3-Clause
// LentCall: a function in a task's frame that another thread calls while the task waits. It may refer to that frame:
// the wait ends only when the call has, or before it has begun. So cancelling ends the wait of a call that is still
// queued, which never begins then; of one that has begun it waits for the end, as the task's loop does when it ends.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include <peal/coro/task.h>
#include <peal/loop/loop.h>

namespace peal::detail {

// The wait and the other thread's queue both hold it. It is either begun there or withdrawn, never both.
class LentCall : public std::enable_shared_from_this<LentCall> {
 public:
  // In the awaiting frame.
  class Lender : public Wait {
   public:
    void cancel(Why why) noexcept override { call_->cancel(why); }
    // On the other thread.
    virtual void work() noexcept = 0;
    void call_ended(Why why) noexcept { complete(why); }

   protected:
    ~Lender() = default;
    std::shared_ptr<LentCall> call_;
  };

  // What the other thread's queue holds. Destroyed uncalled, it was dropped.
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

  // `dropped`: how the wait ends when nobody will call it.
  LentCall(Lender& lender, Loop& home, Why dropped) : lender_(lender), home_(home.mailbox()), dropped_(dropped) {}
  virtual ~LentCall() = default;
  LentCall(const LentCall&) = delete;
  LentCall& operator=(const LentCall&) = delete;

  // The queue has not taken it: the lender says so itself.
  void refuse() { state_ = State::kOver; }
  // The home loop.
  virtual void cancel(Why why) noexcept;

 protected:
  virtual void work() noexcept { lender_.work(); }
  virtual bool withdraw() noexcept;

 private:
  enum class State : int { kQueued, kRunning, kOver };
  void run() noexcept;
  void drop() noexcept;
  void end_wait(Why why) noexcept;
  void cancel_at_the_end() noexcept;

  Lender& lender_;
  const std::shared_ptr<Mailbox> home_;
  const Why dropped_;
  std::thread::id caller_;  // before it is kRunning
  std::atomic<State> state_ = State::kQueued;
  bool wait_ended_ = false;  // the home loop's, as is the next
  bool kept_ = false;        // by the home loop
};

}  // namespace peal::detail
