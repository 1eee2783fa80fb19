// SPDX-License-Identifier: BSD-3-Clause
// AsyncSemaphore: permits among the tasks of one loop, first come, first served: how many do something at once.
//
//   peal::AsyncSemaphore at_once(8);
//   auto permit = co_await at_once.acquire();
//   if (!permit) co_return;  // cancelled, or too late
//
// Who asks for many waits until there are as many, and nobody who came later overtakes it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include <peal/coro/task.h>

namespace peal {

class AsyncSemaphore {
 public:
  // Gives its permits back when destroyed, on the same loop.
  class Permit {
   public:
    Permit(Permit&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)), count_(other.count_) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(semaphore_, other.semaphore_);
      std::swap(count_, other.count_);
      return *this;
    }
    ~Permit() {
      if (semaphore_ == nullptr) return;
      semaphore_->in_use_ -= count_;
      semaphore_->release(count_);
    }
    // Used up: they do not come back.
    void spend() {
      if (semaphore_ != nullptr) std::exchange(semaphore_, nullptr)->in_use_ -= count_;
    }

   private:
    friend class AsyncSemaphore;
    Permit(AsyncSemaphore& semaphore, size_t count) : semaphore_(&semaphore), count_(count) {}
    AsyncSemaphore* semaphore_;
    size_t count_;
  };

  class [[nodiscard]] Acquire final : public detail::QueuedWait<Acquire> {
   public:
    Acquire(AsyncSemaphore& semaphore, size_t count) : semaphore_(semaphore), count_(count) {}
    bool await_ready() { return semaphore_.take(count_); }
    Result<Permit> await_resume() {
      if (why_ != 0) return detail::failed(why_);
      return Permit(semaphore_, count_);
    }
    detail::Wait& selectable() { return *this; }
    // Those behind it may have waited for it alone.
    void cancel(detail::Why why) noexcept override {
      const detail::ReadyQueue::Hold hold;
      AsyncSemaphore& semaphore = semaphore_;
      QueuedWait::cancel(why);
      semaphore.serve();
    }

   private:
    friend class AsyncSemaphore;
    friend class detail::QueuedWait<Acquire>;
    friend class detail::WaitList<Acquire>;
    detail::WaitList<Acquire>& line() { return semaphore_.waiting_; }

    AsyncSemaphore& semaphore_;
    const size_t count_;
  };

  explicit AsyncSemaphore(size_t permits) : free_(permits) {}
  ~AsyncSemaphore() {
    PEAL_ASSERT(waiting_.empty() && in_use_ == 0, "a semaphore is destroyed with {} permits in use", in_use_);
  }
  AsyncSemaphore(const AsyncSemaphore&) = delete;
  AsyncSemaphore& operator=(const AsyncSemaphore&) = delete;

  // Result<Permit>. Of more than there are, in use or free, it waits for a release() of new ones.
  Acquire acquire(size_t count = 1) { return {*this, count}; }
  // Nothing while there are too few, or others wait. For callbacks.
  std::optional<Permit> try_acquire(size_t count = 1) {
    if (!take(count)) return {};
    return Permit(*this, count);
  }
  // New permits, or those of a Permit that was spent.
  void release(size_t count = 1) {
    const detail::ReadyQueue::Hold hold;
    free_ += count;
    serve();
  }
  size_t available() const { return free_; }

 private:
  bool take(size_t count) {
    if (!waiting_.empty() || count > free_) return false;
    use(count);
    return true;
  }
  void use(size_t count) {
    free_ -= count;
    in_use_ += count;
  }
  // Inside a Hold.
  void serve() {
    while (Acquire* first = waiting_.front()) {
      if (first->count_ > free_) return;
      use(first->count_);
      waiting_.remove(*first);
      first->complete(0);
    }
  }

  size_t free_;
  size_t in_use_ = 0;
  detail::WaitList<Acquire> waiting_;
};

}  // namespace peal
