// SPDX-License-Identifier: BSD-3-Clause
// Gives a task the loop it runs on: `Loop& loop = co_await this_loop();`.
#pragma once

#include <peal/coro/await.h>

namespace peal {

// The awaitable that this_loop() returns.
class [[nodiscard]] ThisLoop {
 public:
  static bool await_ready() noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
    loop_ = &handle.promise().strand()->loop();
    return false;
  }
  Loop& await_resume() const noexcept { return *loop_; }

 private:
  Loop* loop_ = nullptr;
};

// Returns the loop on which the awaiting coroutine runs. Inside a task of run_on(), that is the loop that was given to
// run_on(). Never waits and never fails.
inline ThisLoop this_loop() { return {}; }

}  // namespace peal
