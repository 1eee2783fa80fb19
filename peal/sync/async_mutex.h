// SPDX-License-Identifier: BSD-3-Clause
// AsyncMutex: mutual exclusion among the coroutines of one loop, first come, first served. Code between two awaits
// needs no lock, because nothing else of the loop runs meanwhile. A mutex is for acts that must stay together across
// several awaits.
//
//   auto lock = co_await mutex.lock();
//   if (!lock) co_return;  // cancelled, or the deadline has passed
#pragma once

#include <memory>
#include <utility>

#include <peal/coro/task.h>

namespace peal {

class AsyncMutex {
 public:
  // The deleter of Guard. Unlocks the mutex; if coroutines wait in lock(), the first of them then holds the mutex. A
  // Guard must be destroyed on the mutex's loop.
  struct Unlock {
    void operator()(AsyncMutex* mutex) const { mutex->unlock(); }
  };
  using Guard = std::unique_ptr<AsyncMutex, Unlock>;

  // The awaitable that lock() returns.
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

  // Waits until no other coroutine holds the mutex, then locks the mutex. The await returns Result<Guard>.
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
