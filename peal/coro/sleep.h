// SPDX-License-Identifier: BSD-3-Clause
// co_await sleep(5s): waits until the time has passed, on the loop of the awaiting coroutine.
#pragma once

#include <cerrno>

#include <peal/coro/task.h>

namespace peal {

// The awaitable that sleep() returns.
class [[nodiscard]] Sleep final : public detail::Wait {
 public:
  explicit Sleep(Duration duration) { set_timeout(duration); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return begin(handle);
  }
  Result<void> await_resume() const { return detail::answer_of(why_); }
  // Returns the wait of this awaitable. Called by select().
  detail::Wait& selectable() { return *this; }
  // Ends the sleep. If `why` is ETIMEDOUT and the coroutine was not cancelled, the duration has passed, and the await
  // succeeds. In all other cases the await fails with `why`.
  void cancel(detail::Why why) noexcept override { complete(strand().cancelled() == 0 && why == ETIMEDOUT ? 0 : why); }
};

// Waits until `duration` has passed, and at least until the loop's next turn. The await returns Result<void>. Errors:
// - ECANCELED: the coroutine was cancelled.
// - ETIMEDOUT: the deadline of an enclosing within() has passed.
// - Trouble::kLoopStopped: the loop has stopped.
inline Sleep sleep(Duration duration) { return Sleep(duration); }

}  // namespace peal
