// SPDX-License-Identifier: BSD-3-Clause
// AsyncSemaphore: a number of permits that coroutines of one loop share, first come, first served. It limits how many
// of them do something at the same time.
//
//   peal::AsyncSemaphore at_once(8);
//   auto permit = co_await at_once.acquire();
//   if (!permit) co_return;  // cancelled, or the deadline has passed
//
// A coroutine that asks for several permits waits until that many are free. Coroutines that asked later do not overtake
// it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include <peal/coro/task.h>

namespace peal {

class AsyncSemaphore {
 public:
  // One or more permits of a semaphore. The destructor gives the permits back. A Permit must be destroyed on the
  // semaphore's loop.
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
    // Removes the permits from the semaphore for good: the destructor of this Permit does not give them back.
    void spend() {
      if (semaphore_ != nullptr) std::exchange(semaphore_, nullptr)->in_use_ -= count_;
    }

   private:
    friend class AsyncSemaphore;
    Permit(AsyncSemaphore& semaphore, size_t count) : semaphore_(&semaphore), count_(count) {}
    AsyncSemaphore* semaphore_;
    size_t count_;
  };

  // The awaitable that acquire() returns.
  class [[nodiscard]] Acquire final : public detail::QueuedWait<Acquire> {
   public:
    Acquire(AsyncSemaphore& semaphore, size_t count) : semaphore_(semaphore), count_(count) {}
    bool await_ready() { return semaphore_.take(count_); }
    Result<Permit> await_resume() {
      if (why_ != 0) return detail::failed(why_);
      return Permit(semaphore_, count_);
    }
    detail::Wait& selectable() { return *this; }
    // Removes this wait, and then serves the coroutines that wait behind it: the free permits may be enough for them.
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

  // Makes a semaphore with `permits` free permits. Must not be destroyed while permits are in use or coroutines wait
  // for permits (asserted).
  explicit AsyncSemaphore(size_t permits) : free_(permits) {}
  ~AsyncSemaphore() {
    PEAL_ASSERT(waiting_.empty() && in_use_ == 0, "a semaphore is destroyed with {} permits in use", in_use_);
  }
  AsyncSemaphore(const AsyncSemaphore&) = delete;
  AsyncSemaphore& operator=(const AsyncSemaphore&) = delete;

  // Waits until `count` permits are free, then takes them. The await returns Result<Permit>. If the semaphore has fewer
  // than `count` permits in total, free and in use, the await lasts until release() has added enough.
  Acquire acquire(size_t count = 1) { return {*this, count}; }
  // Takes `count` permits without waiting, so callbacks may call this function. Returns nullopt if fewer permits are
  // free, or if coroutines already wait for permits.
  std::optional<Permit> try_acquire(size_t count = 1) {
    if (!take(count)) return {};
    return Permit(*this, count);
  }
  // Adds `count` free permits to the semaphore. They may be additional permits, or replace permits that Permit::spend()
  // has removed.
  void release(size_t count = 1) {
    const detail::ReadyQueue::Hold hold;
    free_ += count;
    serve();
  }
  // Returns how many permits are free.
  size_t available() const { return free_; }

 private:
  // Takes `count` permits and returns true, if that many are free and no coroutine waits for permits. Otherwise returns
  // false.
  bool take(size_t count) {
    if (!waiting_.empty() || count > free_) return false;
    use(count);
    return true;
  }
  void use(size_t count) {
    free_ -= count;
    in_use_ += count;
  }
  // Gives free permits to waiting coroutines, oldest first. Called only while a ReadyQueue::Hold exists, so that no
  // coroutine is resumed before this function returns.
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
