// SPDX-License-Identifier: BSD-3-Clause
// co_await shield(let_go(watch), 5s): runs a task that must finish even if the awaiting coroutine was cancelled. After
// cancelling, every other wait of the coroutine fails at once; waits of the task inside the shield do not, for at most
// the time `limit`. When `limit` has passed or the loop stops, the task inside is cancelled, with ETIMEDOUT or
// Trouble::kLoopStopped. The await ends when the task has ended.
//
// A shield is for ending what refers to the coroutine's frame, which would otherwise be destroyed first: Watch::stop(),
// a job of a thread pool, a callback registered with another library. Everybody who waits for the coroutine's end also
// waits for the shield, so keep `limit` short.
#pragma once

#include <peal/coro/task.h>

namespace peal {

template <class T>
using Shield = detail::TaskUntil<T, true>;

// Returns an awaitable that runs `task`. The task is not cancelled when the awaiting coroutine is cancelled. The task
// is cancelled when `limit` has passed since the await began, or when the loop ends. The await returns the task's
// result, or throws the task's exception.
template <class T>
Shield<T> shield(Task<T> task, Duration limit) {
  return {std::move(task), limit};
}

}  // namespace peal
