// SPDX-License-Identifier: BSD-3-Clause
// For a task that was not handed its loop: `Loop& loop = co_await this_loop();`.
#pragma once

#include <peal/coro/await.h>

namespace peal {

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

// The loop the awaiting coroutine runs on, in a task of run_on() the other one. Never waits, never fails.
inline ThisLoop this_loop() { return {}; }

}  // namespace peal
