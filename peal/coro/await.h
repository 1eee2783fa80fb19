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
// - An await that need not wait still succeeds, so a cancelled task may say good-bye. Work that must wait even then
//   belongs in a shield().
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

namespace peal {

class Loop;

namespace detail {

// How a wait ended: success or an error of any category. A Why differs from a std::error_code in one point: the
// category of an errno value is a null pointer. So an await makes its result without a call; the default constructor of
// std::error_code calls a function of the C++ library.
class Why {
 public:
  // Makes a success.
  constexpr Why() = default;
  // Makes the error with this errno value, or a success if it is 0.
  constexpr Why(int errno_value) : value_(errno_value) {}
  explicit Why(std::error_code error);

  // Returns the error as a std::error_code; a success as errno value 0.
  std::error_code code() const;
  friend constexpr bool operator==(const Why& why, int errno_value) {
    return why.value_ == errno_value && (errno_value == 0 || why.category_ == nullptr);
  }
  friend constexpr bool operator==(const Why&, const Why&) = default;

 private:
  int value_ = 0;
  const std::error_category* category_ = nullptr;
};

// Converts an error to a Why, and a Why that is an error to a failed Result.
inline Why why_of(std::error_code error) { return Why(error); }
inline std::unexpected<std::error_code> failed(Why why) { return std::unexpected(why.code()); }

// Returns the result of an await without a value: success if `why` is 0.
inline Result<void> answer_of(Why why) {
  if (why != 0) [[unlikely]]
    return failed(why);
  return {};
}

// A coroutine that can be queued for being resumed.
class Runnable {
 public:
  virtual void run() noexcept = 0;
  Runnable* next_ready;  // the next entry of the ReadyQueue; null if this is the last

 protected:
  ~Runnable() = default;
};

// The queue of the coroutines that are ready to be resumed. Each thread has one queue.
class ReadyQueue {
 public:
  // Resumes `what` now. If busy(), queues `what` instead: it is resumed after the running coroutine has suspended.
  template <class What>
  static void run(What& what) {
    if (here_.running_) return here_.push(what);
    run_now(what);
  }
  // Resumes `what` now, then the coroutines that became ready meanwhile. May be called only if busy() is false.
  template <class What>
  static void run_now(What& what) {
    ReadyQueue& here = here_;
    here.running_ = true;
    what.What::run();
    if (here.first_ != nullptr) [[unlikely]]
      here.drain();
    here.running_ = false;
  }
  // True if a coroutine runs on this thread, or a Hold exists: run() would queue.
  static bool busy() { return here_.running_; }
  // Resumes all queued coroutines now, even inside the coroutine that runs. Called by code that is about to destroy
  // objects that the queued coroutines use.
  static void run_all() {
    const bool outer = std::exchange(here_.running_, true);
    here_.drain();
    here_.running_ = outer;
  }
  // While a Hold exists, no coroutine is resumed. Those that became ready are resumed when the outermost Hold is
  // destroyed, or later, when the coroutine that created it suspends. Code that walks a list creates a Hold if resumed
  // tasks could change the list.
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

// One chain of awaits; see the top of this file. Derived classes own the strand's outermost task.
class Strand {
 public:
  explicit Strand(Loop* loop) : loop_(loop) {}
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Returns the loop on which this chain of awaits runs. Only that loop's thread may touch the strand.
  Loop& loop() const { return *loop_; }
  // Returns the reason why this chain of awaits was cancelled; 0 if it was not.
  Why cancelled() const { return cancelled_; }
  // Cancels this chain of awaits, and the wait in which it is suspended. The first reason stays the error of all later
  // waits, except that Trouble::kLoopStopped replaces it: after that reason the loop may have been destroyed.
  void cancel(Why why) noexcept;
  // Records the wait in which the strand is suspended. Null means that the strand runs.
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

// An await that is suspended. A Wait is a part of the frame of the waiting coroutine, except ReadWait, which a stream
// owns.
class Wait : public Runnable {
 public:
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  void run() noexcept final { handle_.resume(); }
  // Returns false: the await suspends. Derived awaitables that may be ready at once have their own.
  static bool await_ready() noexcept { return false; }
  // Ends the wait early. A wait for an event is removed from the list in which it waits, so that nothing else completes
  // it, and is completed with `why`. A wait for tasks cancels those tasks and keeps waiting until they have ended.
  virtual void cancel(Why why) noexcept = 0;
  // Makes this wait, which has begun, one of several that select() waits for; the first to complete is chosen. When
  // this wait completes, it calls Strand::on_done() of `choice` and resumes no coroutine.
  void select_by(Strand& choice) {
    strand_ = &choice;
    marks_ |= kSelected;
  }
  // True from select_by() until the wait completes.
  bool selected() const { return (marks_ & kSelected) != 0; }

 protected:
  Wait() = default;
  ~Wait() = default;

  // Begins the wait: the first call in each await_suspend(). Returns false if the coroutine must not wait, because it
  // was cancelled or its loop has stopped; why_ is the error then.
  template <class Promise>
  bool begin(std::coroutine_handle<Promise> handle) {
    handle_ = handle;
    strand_ = handle.promise().strand();
    if (strand_->cancelled() != 0 || timed()) [[unlikely]]
      return begin_timed_or_cancelled();
    strand_->wait_in(this);
    return true;
  }
  // Begins a wait for tasks. Their end must be waited for even if the awaiting coroutine was cancelled: in that case
  // this call also cancels the tasks.
  template <class Promise>
  void begin_joining(std::coroutine_handle<Promise> handle) {
    if (begin(handle)) return;
    strand_->wait_in(this);
    cancel(why_);
  }
  // Begins a wait for tasks that continues if the awaiting coroutine is cancelled. Only the deadline, or the end of the
  // loop, cancels the tasks; they call cancel() after timed() has become false.
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
  // Ends the wait with `why`, where 0 is success. The coroutine is resumed in this call or after the running coroutine
  // has suspended. Called once for each wait.
  void complete(Why why) noexcept {
    why_ = why;
    if ((marks_ & (kTimed | kSelected)) != 0) [[unlikely]]
      return complete_timed_or_selected();
    strand_->wait_in(nullptr);
    ReadyQueue::run(*this);
  }
  // Ends the wait with success, as complete(0) does, but checks less. May be called only if ReadyQueue::busy() is false
  // and the wait has no deadline and is not selected().
  void complete_now() noexcept {
    strand_->wait_in(nullptr);
    ReadyQueue::run_now(*this);
  }
  // Ends the wait without resuming the coroutine. Returns the coroutine, which the caller resumes.
  std::coroutine_handle<> end() noexcept {
    strand_->wait_in(nullptr);
    if (timed()) [[unlikely]]
      disarm();
    return handle_;
  }
  // Ends a wait inside its own await_suspend(), because there is nothing to wait for: the await returns at once, with
  // `why`. Always returns false, which await_suspend() passes on.
  bool refuse(Why why) noexcept {
    why_ = why;
    end();
    return false;
  }
  // Returns the strand of the waiting coroutine. May be called only after begin().
  Strand& strand() const { return *strand_; }

  // Gives the wait a deadline; called before begin(). A timeout of zero or less passes at the loop's next tick.
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

  // Does the rest of begin() if the wait has a deadline or the coroutine was cancelled.
  bool begin_timed_or_cancelled();
  // Does the rest of complete() if the wait has a deadline or is one of a select().
  void complete_timed_or_selected() noexcept;
  // Starts the timer of the wait's deadline. Returns false, with why_ set, if the loop has stopped.
  bool arm();
  // Cancels the timer of the wait's deadline.
  void disarm() noexcept;

  int64_t timing_;  // meaningful if timed(): the Duration until begin(), afterwards the TimerId
  std::coroutine_handle<> handle_;
  Strand* strand_;
};

// Awaits an awaitable that lives until the end of the same expression. Refers to the awaitable, because g++ 12 would
// move one that is returned by value.
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

// True if a function object may be created inside the co_await expression that uses it. g++ 12 destroys temporary
// objects of a co_await expression twice, so the function must be an lvalue or have a trivial destructor.
template <class Function>
constexpr bool kMayStandInAwait =
    std::is_lvalue_reference_v<Function> || std::is_trivially_destructible_v<std::remove_reference_t<Function>>;

// Base class that gives an awaitable its within(): `co_await stream.read().within(5s)` fails with ETIMEDOUT after five
// seconds, never early.
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

// A FIFO list of waits, which may be removed from the middle. T has the members `T* next_` and `T* prev_`.
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

// A wait among others for the same event, served first come, first served. Self befriends QueuedWait<Self> and
// WaitList<Self>, and its line() returns the list in which it waits.
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
