// SPDX-License-Identifier: BSD-3-Clause
// What every await is made of. A strand is one chain of awaits: a task, what it awaits, what that awaits. It runs on
// one loop at a time and has a Strand object, which knows the one Wait the strand is suspended in; that is how it is
// found and cancelled. Strands form a tree: when_all, within() and Scope give each child a strand of its own.
//
// Cancelling is sticky. The wait under way is withdrawn and resumed once, with the reason as its error; every later
// await that would have to wait fails at once with the same. An await that need not wait still succeeds, so a cancelled
// task may say good-bye; what it must wait for goes into a shield().
//
// A coroutine is never resumed inside another one: who is ready runs when the one that runs now suspends, in order. So
// code between two awaits is never interleaved with other tasks of its loop.
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
  // Success.
  constexpr Why() = default;
  // The error with this errno value; 0 is success.
  constexpr Why(int errno_value) : value_(errno_value) {}
  explicit Why(std::error_code error);

  std::error_code code() const;
  friend constexpr bool operator==(const Why& why, int errno_value) {
    return why.value_ == errno_value && (errno_value == 0 || why.category_ == nullptr);
  }
  friend constexpr bool operator==(const Why&, const Why&) = default;

 private:
  int value_ = 0;
  const std::error_category* category_ = nullptr;
};

inline Why why_of(std::error_code error) { return Why(error); }
inline std::unexpected<std::error_code> failed(Why why) { return std::unexpected(why.code()); }
inline Result<void> answer_of(Why why) {
  if (why != 0) [[unlikely]]
    return failed(why);
  return {};
}

class Runnable {
 public:
  virtual void run() noexcept = 0;
  Runnable* next_ready;  // ReadyQueue's

 protected:
  ~Runnable() = default;
};

// This thread's queue of who is ready.
class ReadyQueue {
 public:
  // Now, or when the coroutine running now suspends.
  template <class What>
  static void run(What& what) {
    if (here_.running_) return here_.push(what);
    run_now(what);
  }
  // The same when not busy().
  template <class What>
  static void run_now(What& what) {
    ReadyQueue& here = here_;
    here.running_ = true;
    what.What::run();
    if (here.first_ != nullptr) [[unlikely]]
      here.drain();
    here.running_ = false;
  }
  // Whether run() would have to wait.
  static bool busy() { return here_.running_; }
  // Whoever is ready runs now, even inside the coroutine that runs: for who is about to destroy what they use.
  static void run_all() {
    const bool outer = std::exchange(here_.running_, true);
    here_.drain();
    here_.running_ = outer;
  }
  // While it lives nobody is resumed; whoever became ready is when it dies. For walking lists that tasks change.
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

class Strand {
 public:
  explicit Strand(Loop* loop) : loop_(loop) {}
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Where it runs; its thread is the only one to touch it.
  Loop& loop() const { return *loop_; }
  Why cancelled() const { return cancelled_; }
  // The first reason counts, but for Trouble::kLoopStopped: then the loop may be gone.
  void cancel(Why why) noexcept;
  // What it is suspended in; null: it runs.
  void wait_in(Wait* wait) { waiting_ = wait; }
  // Its outermost task has ended; answers who runs next.
  virtual std::coroutine_handle<> on_done() noexcept = 0;

 protected:
  ~Strand() = default;

  Loop* loop_;

 private:
  Wait* waiting_ = nullptr;
  Why cancelled_ = 0;
};

// A suspended await: lives in the frame of the coroutine that waits.
class Wait : public Runnable {
 public:
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  void run() noexcept final { handle_.resume(); }
  // Unless the derived class knows better.
  static bool await_ready() noexcept { return false; }
  // Takes it out of where it waits, so that nothing else completes it, and completes it; or, if it waits for tasks,
  // cancels those and goes on waiting.
  virtual void cancel(Why why) noexcept = 0;
  // It has begun to wait, and is one of several from now on, of which the first to complete counts: completing it is
  // the end of `choice`, Strand::on_done(), and resumes nobody.
  void select_by(Strand& choice) {
    strand_ = &choice;
    marks_ |= kSelected;
  }
  // Until it completes.
  bool selected() const { return (marks_ & kSelected) != 0; }

 protected:
  Wait() = default;
  ~Wait() = default;

  // First thing in await_suspend(). False: it must not wait, why() tells the reason.
  template <class Promise>
  bool begin(std::coroutine_handle<Promise> handle) {
    handle_ = handle;
    strand_ = handle.promise().strand();
    if (strand_->cancelled() != 0 || timed()) [[unlikely]]
      return begin_timed_or_cancelled();
    strand_->wait_in(this);
    return true;
  }
  // The same for what waits for tasks, and so must wait even when cancelled: then it cancels them at once.
  template <class Promise>
  void begin_joining(std::coroutine_handle<Promise> handle) {
    if (begin(handle)) return;
    strand_->wait_in(this);
    cancel(why_);
  }
  // The same for what waits for tasks until its deadline, whatever cancels the strand: cancel() is the deadline's when
  // not timed().
  template <class Promise>
  void begin_shielded(std::coroutine_handle<Promise> handle) {
    handle_ = handle;
    strand_ = handle.promise().strand();
    if (arm()) return;
    strand_->wait_in(this);
    cancel(why_);
  }
  bool timed() const { return (marks_ & kTimed) != 0; }
  // The wait is over: the coroutine is resumed, here or soon. Once.
  void complete(Why why) noexcept {
    why_ = why;
    if ((marks_ & (kTimed | kSelected)) != 0) [[unlikely]]
      return complete_timed_or_selected();
    strand_->wait_in(nullptr);
    ReadyQueue::run(*this);
  }
  // The same for good, when not ReadyQueue::busy(), without a deadline.
  void complete_now() noexcept {
    strand_->wait_in(nullptr);
    ReadyQueue::run_now(*this);
  }
  // The same when the caller resumes it.
  std::coroutine_handle<> end() noexcept {
    strand_->wait_in(nullptr);
    if (timed()) [[unlikely]]
      disarm();
    return handle_;
  }
  // The same inside await_suspend(), for what turns out not to be worth waiting for. Answers false.
  bool refuse(Why why) noexcept {
    why_ = why;
    end();
    return false;
  }
  Strand& strand() const { return *strand_; }

  // A deadline in no time at all is the next tick's.
  void set_timeout(Duration timeout) {
    timing_ = std::max<int64_t>(timeout.count(), 1);
    marks_ |= kTimed;
  }

  static constexpr uint32_t kTimed = 1;
  static constexpr uint32_t kSelected = 1U << 31;
  Why why_ = 0;
  uint32_t marks_ = 0;  // those, and the derived class's own; here so that one store clears them

 private:
  struct Alarm;
  bool begin_timed_or_cancelled();
  void complete_timed_or_selected() noexcept;
  bool arm();
  void disarm() noexcept;

  int64_t timing_;  // when timed(): before begin() a Duration, then the TimerId
  std::coroutine_handle<> handle_;
  Strand* strand_;
};

// Awaits what lives on in the same expression: g++ 12 would move it.
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

// Whether a function may be given to an awaitable as it stands: g++ 12 destroys a lambda in a co_await expression
// twice.
template <class Function>
constexpr bool kMayStandInAwait =
    std::is_lvalue_reference_v<Function> || std::is_trivially_destructible_v<std::remove_reference_t<Function>>;

// Gives an awaitable its deadline: `co_await stream.read().within(5s)` fails with ETIMEDOUT, never early.
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

// A FIFO of waits that may leave from the middle; T has `T* next_` and `T* prev_`.
template <class T>
class WaitList {
 public:
  bool empty() const { return first_ == nullptr; }
  T* front() const { return first_; }
  void push_back(T& wait) {
    wait.prev_ = last_;
    wait.next_ = nullptr;
    (last_ == nullptr ? first_ : last_->next_) = &wait;
    last_ = &wait;
  }
  void remove(T& wait) {
    (wait.prev_ == nullptr ? first_ : wait.prev_->next_) = wait.next_;
    (wait.next_ == nullptr ? last_ : wait.next_->prev_) = wait.prev_;
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

// One of those that wait for the same thing, first come, first served. Self befriends this and its list, and says in
// which line() it waits.
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
