// SPDX-License-Identifier: BSD-3-Clause
// CoCondition: a condition variable for the coroutines of one loop. It needs no mutex, because all these coroutines
// share one thread: another coroutine runs only while the current one waits. A coroutine that is resumed must check its
// condition again, as with any condition variable:
//
//   while (list.empty() && !loop.stopping()) condition.wait(self);          stackful: on its own stack
//   while (list.empty() && !loop.stopping()) co_await condition.wait();     stackless
//
// When the loop is stopping, all waiting coroutines are resumed. Use a CoCondition on one thread only. The loop must
// outlive the condition.
#pragma once

#include <coroutine>
#include <cstddef>

#include <models/common/coroutine/coroutine_loop.h>
#include <models/common/coroutine/fiber.h>

namespace peal::models {

// The maximum number of connections that the server has accepted, but that no coroutine serves yet. When this number is
// reached, the server does not accept further connections until a coroutine takes one.
inline constexpr size_t kMostUntaken = 64;

class CoCondition {
 public:
  explicit CoCondition(CoroutineLoop& loop) : loop_(loop) { loop_.conditions_.push_back(this); }
  ~CoCondition() { std::erase(loop_.conditions_, this); }
  CoCondition(const CoCondition&) = delete;
  CoCondition& operator=(const CoCondition&) = delete;

  bool anybody_waits() const { return !waiting_.empty(); }
  // Schedules the coroutine that has waited longest. Does nothing if no coroutine waits. The loop resumes the coroutine
  // later, never during this call.
  void notify_one() {
    if (!waiting_.empty()) loop_.make_ready(waiting_.pop_front());
  }
  void notify_all() { loop_.ready_.append(waiting_); }

  void wait(Fiber& self) {
    if (loop_.stopping()) return;
    waiting_.push_back(self);
    self.suspend();
  }

  class Wait final : public Waiter {
   public:
    explicit Wait(CoCondition& condition) : condition_(condition) {}
    bool await_ready() const { return condition_.loop_.stopping(); }
    void await_suspend(std::coroutine_handle<> coroutine) {
      coroutine_ = coroutine;
      condition_.waiting_.push_back(*this);
    }
    void await_resume() const {}
    void resume() override { coroutine_.resume(); }

   private:
    CoCondition& condition_;
    std::coroutine_handle<> coroutine_;
  };
  Wait wait() { return Wait(*this); }

 private:
  CoroutineLoop& loop_;
  WaitList waiting_;
};

}  // namespace peal::models
