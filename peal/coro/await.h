// SPDX-License-Identifier: BSD-3-Clause
// Strands, waits and the queue of ready coroutines: the parts that every awaitable of peal is made of.
//
// A strand is one chain of awaits: a task, the task that it awaits, and so on down to the wait in which the chain is
// suspended. A strand runs on one loop. Its Strand object knows the one Wait in which the strand is suspended, so that
// the wait can be found and cancelled. Strands form a tree: when_all(), within() and Scope give each child task a
// strand of its own.
//
// Cancelling a strand is sticky:
// - The wait in progress is withdrawn. Its coroutine is resumed once, and the await returns the reason as its error.
// - Each later await that would have to wait fails at once with the same error.
// - An await that need not wait still succeeds, so a cancelled task may send a last message. Work that must wait
//   after cancelling belongs in a shield().
//
// A coroutine is never resumed inside another one. If a coroutine becomes ready while another one runs, it is resumed
// after the running one has suspended, in order. So code between two awaits is never interleaved with other tasks of
// its loop.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/coro/why.h>

namespace peal {

class Loop;

namespace detail {

// An entry of the ReadyQueue. The queue calls run() of its entries in order. run() resumes a coroutine.
class Runnable {
 public:
  virtual void run() noexcept = 0;
  Runnable* next_ready;  // the next entry of the ReadyQueue; null if this is the last

 protected:
  ~Runnable() = default;
};

// The queue of the coroutines that are ready to be resumed. Each thread has its own queue.
class ReadyQueue {
 public:
  // Resumes `what` now if busy() is false. Otherwise queues `what`, which is then resumed when the running coroutine
  // suspends or the outermost Hold is destroyed.
  template <class What>
  static void run(What& what) {
    if (here_.running_) return here_.push(what);
    run_now(what);
  }
  // Resumes `what` now. Then resumes all coroutines that were queued in the meantime. May be called only if busy() is
  // false.
  template <class What>
  static void run_now(What& what) {
    ReadyQueue& here = here_;
    here.running_ = true;
    what.What::run();
    if (here.first_ != nullptr) [[unlikely]]
      here.drain();
    here.running_ = false;
  }
  // True if this thread runs a coroutine or has a Hold. While busy() is true, run() queues its argument.
  static bool busy() { return here_.running_; }
  // Resumes all queued coroutines before it returns, even if the caller is a coroutine itself. Must be called before
  // objects are destroyed that the queued coroutines use.
  static void run_all() {
    const bool outer = std::exchange(here_.running_, true);
    here_.drain();
    here_.running_ = outer;
  }
  // While a Hold exists, coroutines of this thread that become ready are queued and not resumed. They are resumed when
  // the outermost Hold is destroyed. If a coroutine has created that Hold, they are resumed when that coroutine
  // suspends. A function that walks a list creates a Hold if a resumed coroutine could change that list.
  class Hold {
   public:
    Hold() : outer_(std::exchange(here_.running_, true)) {}
    ~Hold() {
      if (outer_) return;
      here_.drain();
      here_.running_ = false;
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    const bool outer_;
  };

 private:
  void push(Runnable& what);
  void drain();

  static thread_local constinit ReadyQueue here_;
  bool running_ = false;
  Runnable* first_ = nullptr;
  Runnable* last_ = nullptr;
};
inline thread_local constinit ReadyQueue ReadyQueue::here_;

class Wait;

// One chain of awaits: a task, the task that the first task awaits, and so on. A derived class runs the first task,
// which is called the outermost task.
class Strand {
 public:
  explicit Strand(Loop* loop) : loop_(loop) {}
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Returns the loop on which this chain of awaits runs. Only that loop's thread may touch this object.
  Loop& loop() const { return *loop_; }
  // Returns the reason why this chain of awaits was cancelled; 0 if it was not.
  Why cancelled() const { return cancelled_; }
  // Cancels this chain of awaits and the wait in which it is suspended. Every later wait of the chain fails with `why`.
  // If cancel() is called again, the first `why` is kept. Only Trouble::kLoopStopped replaces it, because this error
  // means that later waits must not use the Loop object.
  void cancel(Why why) noexcept;
  // Records `wait` as the wait in which this chain of awaits is suspended. A null pointer means that the chain runs.
  void wait_in(Wait* wait) { waiting_ = wait; }
  // Called when the outermost task of this chain of awaits has ended. Returns the coroutine to resume next.
  virtual std::coroutine_handle<> on_done() noexcept = 0;

 protected:
  ~Strand() = default;

  Loop* loop_;

 private:
  Wait* waiting_ = nullptr;
  Why cancelled_ = 0;
};

// An await that is suspended. A Wait is a part of the waiting coroutine's frame. The only exception is ReadWait, which
// the stream owns.
class Wait : public Runnable {
 public:
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  void run() noexcept final { handle_.resume(); }
  // Returns false, which means that the await calls await_suspend(). A derived class whose await can end without
  // suspending declares an await_ready() of its own.
  static bool await_ready() noexcept { return false; }
  // Ends the wait early. The effect depends on the kind of wait:
  // - A wait for an event is removed from the list of waits for that event. Then it is completed with `why`.
  // - A wait for tasks cancels those tasks, and lasts until they have ended.
  virtual void cancel(Why why) noexcept = 0;
  // Marks this wait as one of several that a select() waits for. Called after the wait has begun. select() takes the
  // result of the wait that completes first. When this wait completes, it calls choice.on_done() and resumes no
  // coroutine.
  void select_by(Strand& choice) {
    strand_ = &choice;
    marks_ |= kSelected;
  }
  // True from select_by() until the wait completes.
  bool selected() const { return (marks_ & kSelected) != 0; }

 protected:
  Wait() = default;
  ~Wait() = default;

  // Begins the wait. Called first in await_suspend() of the derived class. Returns false if the coroutine must not
  // wait, because it was cancelled or its loop has stopped; why_ is then the error.
  template <class Promise>
  bool begin(std::coroutine_handle<Promise> handle) {
    handle_ = handle;
    strand_ = handle.promise().strand();
    if (strand_->cancelled().is_error() || timed()) [[unlikely]]
      return begin_timed_or_cancelled();
    strand_->wait_in(this);
    return true;
  }
  // Begins a wait for tasks, even if the awaiting coroutine was cancelled: the await must not end before the tasks. If
  // the awaiting coroutine was cancelled, this call also cancels the tasks.
  template <class Promise>
  void begin_joining(std::coroutine_handle<Promise> handle) {
    if (begin(handle)) return;
    strand_->wait_in(this);
    cancel(why_);
  }
  // Begins a wait for tasks. The wait continues if the awaiting coroutine is cancelled: the derived class must ignore a
  // call of cancel() while timed() is true, because that call comes from the cancelled coroutine. When the deadline
  // passes or the loop ends, timed() becomes false before cancel() is called.
  template <class Promise>
  void begin_shielded(std::coroutine_handle<Promise> handle) {
    handle_ = handle;
    strand_ = handle.promise().strand();
    if (arm()) return;
    strand_->wait_in(this);
    cancel(why_);
  }
  // True while the wait has a deadline that has not passed.
  bool timed() const { return (marks_ & kTimed) != 0; }
  // Ends the wait with `why`; 0 means success. Called once for each wait. If ReadyQueue::busy() is false, resumes the
  // coroutine inside this call. Otherwise the coroutine is resumed after the running coroutine has suspended.
  void complete(Why why) noexcept {
    why_ = why;
    if ((marks_ & (kTimed | kSelected)) != 0) [[unlikely]]
      return complete_timed_or_selected();
    strand_->wait_in(nullptr);
    ReadyQueue::run(*this);
  }
  // Ends the wait with success. Omits the checks of complete(0), so it may be called only if ReadyQueue::busy() is
  // false, the wait has no deadline, and selected() is false.
  void complete_now() noexcept {
    strand_->wait_in(nullptr);
    ReadyQueue::run_now(*this);
  }
  // Ends the wait without resuming the coroutine. Returns the handle of the coroutine, which the caller must resume.
  std::coroutine_handle<> end() noexcept {
    strand_->wait_in(nullptr);
    if (timed()) [[unlikely]]
      disarm();
    return handle_;
  }
  // Ends a wait that await_suspend() has just begun, because the coroutine need not suspend. The await then ends at
  // once with the outcome `why`. Always returns false, which await_suspend() must return.
  bool refuse(Why why) noexcept {
    why_ = why;
    end();
    return false;
  }
  // Returns the chain of awaits that the waiting coroutine belongs to. May be called only after begin().
  Strand& strand() const { return *strand_; }

  // Gives the wait a deadline, which passes `timeout` after the call of begin(). Must be called before begin(). A
  // timeout of zero or less passes at the loop's next tick.
  void set_timeout(Duration timeout) {
    timing_ = std::max<int64_t>(timeout.count(), 1);
    marks_ |= kTimed;
  }

  static constexpr uint32_t kTimed = 1;
  static constexpr uint32_t kSelected = 1U << 31;
  Why why_ = 0;
  uint32_t marks_ = 0;  // kTimed, kSelected and the bits of the derived class; in one word, so one store clears all

 private:
  // The closure that the timer of the deadline calls.
  struct Alarm;

  // Called by begin() if the wait has a deadline or the coroutine was cancelled. Returns the result of begin().
  bool begin_timed_or_cancelled();
  // Called by complete() if the wait has a deadline or belongs to a select().
  void complete_timed_or_selected() noexcept;
  // Starts the timer of the wait's deadline. Returns false and sets why_ if the loop has stopped.
  bool arm();
  // Cancels the timer of the wait's deadline.
  void disarm() noexcept;

  int64_t timing_;  // meaningful if timed(): the Duration until begin(), afterwards the TimerId
  std::coroutine_handle<> handle_;
  Strand* strand_;
};

// An awaitable that forwards each call to the awaitable `wait`, which must live until the end of the co_await
// expression. within() returns a ByReference, because g++ 12 would move an awaitable that is returned by value.
template <class Self>
struct ByReference {
  bool await_ready() { return wait.await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> handle) {
    return wait.await_suspend(handle);
  }
  auto await_resume() { return wait.await_resume(); }

  Self& wait;
};

// True if an argument of type `Function` may be written inside a co_await expression. g++ 12 destroys temporary objects
// of a co_await expression twice. So the argument must be an lvalue or have a trivial destructor.
template <class Function>
constexpr bool kMayStandInAwait =
    std::is_lvalue_reference_v<Function> || std::is_trivially_destructible_v<std::remove_reference_t<Function>>;

// Base class that gives an awaitable the function within(). For example, `co_await stream.read().within(5s)` fails with
// ETIMEDOUT if the read has not ended after five seconds. The deadline never passes early.
template <class Self, class Base = Wait>
class Awaitable : public Base {
 public:
  using Base::Base;
  ByReference<Self> within(Duration timeout) && {
    this->set_timeout(timeout);
    return {static_cast<Self&>(*this)};
  }

 protected:
  ~Awaitable() = default;
};

// A FIFO list of waits. A wait may also be removed from the middle of the list. T must have the members `T* next_` and
// `T* prev_`.
template <class T>
class WaitList {
 public:
  bool empty() const { return first_ == nullptr; }
  T* front() const { return first_; }
  void push_back(T& wait) {
    wait.prev_ = last_;
    wait.next_ = nullptr;
    if (last_ == nullptr) {
      first_ = &wait;
    } else {
      last_->next_ = &wait;
    }
    last_ = &wait;
  }
  void remove(T& wait) {
    if (wait.prev_ == nullptr) {
      first_ = wait.next_;
    } else {
      wait.prev_->next_ = wait.next_;
    }
    if (wait.next_ == nullptr) {
      last_ = wait.prev_;
    } else {
      wait.next_->prev_ = wait.prev_;
    }
  }
  T* pop_front() {
    T* wait = first_;
    if (wait != nullptr) remove(*wait);
    return wait;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

// Base class of waits that queue for the same event and are served first come, first served. The derived class Self has
// a function line() that returns the list in which the wait queues. Self must declare QueuedWait<Self> and
// WaitList<Self> as friends.
template <class Self>
class QueuedWait : public Awaitable<Self> {
 public:
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!this->begin(handle)) return false;
    self().line().push_back(self());
    return true;
  }
  void cancel(Why why) noexcept override {
    self().line().remove(self());
    this->complete(why);
  }

 protected:
  ~QueuedWait() = default;

  Self* next_;
  Self* prev_;

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace detail
}  // namespace peal
