// SPDX-License-Identifier: BSD-3-Clause
// Waiting for time to pass, on the loop the coroutine runs on.
#pragma once

#include <cerrno>

#include <peal/coro/task.h>

namespace peal {

class [[nodiscard]] Sleep final : public detail::Wait {
 public:
  explicit Sleep(Duration duration) { set_timeout(duration); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return begin(handle);
  }
  Result<void> await_resume() const { return detail::answer_of(why_); }
  detail::Wait& selectable() { return *this; }
  // Its own time is up, or somebody cancels its strand.
  void cancel(detail::Why why) noexcept override { complete(strand().cancelled() == 0 && why == ETIMEDOUT ? 0 : why); }
};

// Always waits, at least until the loop's next turn. ECANCELED, Trouble::kLoopStopped.
inline Sleep sleep(Duration duration) { return Sleep(duration); }

}  // namespace peal
