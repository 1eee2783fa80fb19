// SPDX-License-Identifier: BSD-3-Clause
// AsyncMutex: mutual exclusion among the tasks of one loop, first come, first served. What one task does between two
// awaits needs no lock; this is for what must stay together across awaits.
//
//   auto lock = co_await mutex.lock();
//   if (!lock) co_return;  // cancelled, or too late
#pragma once

#include <memory>
#include <utility>

#include <peal/coro/task.h>

namespace peal {

class AsyncMutex {
 public:
  // Unlocks when destroyed, on the same loop; then the next in line has it.
  struct Unlock {
    void operator()(AsyncMutex* mutex) const { mutex->unlock(); }
  };
  using Guard = std::unique_ptr<AsyncMutex, Unlock>;

  class [[nodiscard]] Lock final : public detail::QueuedWait<Lock> {
   public:
    explicit Lock(AsyncMutex& mutex) : mutex_(mutex) {}
    bool await_ready() { return !std::exchange(mutex_.locked_, true); }
    Result<Guard> await_resume() {
      if (why_ != 0) return detail::failed(why_);
      return Guard(&mutex_);
    }
    detail::Wait& selectable() { return *this; }

   private:
    friend class AsyncMutex;
    friend class detail::QueuedWait<Lock>;
    friend class detail::WaitList<Lock>;
    detail::WaitList<Lock>& line() { return mutex_.waiting_; }

    AsyncMutex& mutex_;
  };

  AsyncMutex() = default;
  ~AsyncMutex() { PEAL_ASSERT(!locked_, "a mutex is destroyed while locked, {} waiting", waiting_.empty() ? 0 : 1); }
  AsyncMutex(const AsyncMutex&) = delete;
  AsyncMutex& operator=(const AsyncMutex&) = delete;

  Lock lock() { return Lock(*this); }
  bool locked() const { return locked_; }

 private:
  void unlock() {
    Lock* next = waiting_.pop_front();
    locked_ = next != nullptr;
    if (next != nullptr) next->complete(0);
  }

  detail::WaitList<Lock> waiting_;
  bool locked_ = false;
};

}  // namespace peal
