// SPDX-License-Identifier: BSD-3-Clause
// co_await shield(let_go(watch), 5s): what a task must do before it ends, also when it was cancelled. Cancelling fails
// every wait that follows at once; inside the shield it does not, for as long as `limit`. Then, or when the loop stops,
// the task in it is cancelled, with ETIMEDOUT or Trouble::kLoopStopped, and waited for as ever.
//
// It is for the end of what refers to the task's frame, which otherwise dies first: Watch::stop(), a job of a thread
// pool, a callback of somebody else's. Whoever waits for the task's end waits for the shield, so keep `limit` short.
#pragma once

#include <peal/coro/task.h>

namespace peal {

// Awaited, it answers what the task does; an exception too.
template <class T>
class [[nodiscard]] Shield final : public detail::Wait, private detail::Strand {
 public:
  Shield(Task<T> task, Duration limit) : Strand(nullptr), task_(std::move(task)) { set_timeout(limit); }
  static bool await_ready() noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> awaiting) {
    loop_ = &awaiting.promise().strand()->loop();
    task_.coroutine().promise().belong(*this, nullptr);
    begin_shielded(awaiting);
    return task_.coroutine();
  }
  T await_resume() { return task_.coroutine().promise().take(); }
  void cancel(detail::Why why) noexcept override {
    if (!timed()) Strand::cancel(why);
  }

 private:
  std::coroutine_handle<> on_done() noexcept override { return end(); }

  Task<T> task_;
};

template <class T>
Shield<T> shield(Task<T> task, Duration limit) {
  return Shield<T>(std::move(task), limit);
}

}  // namespace peal
