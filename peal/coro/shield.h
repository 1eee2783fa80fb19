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

template <class T>
using Shield = detail::TaskUntil<T, true>;

// Awaited, it answers what the task does; an exception too.
template <class T>
Shield<T> shield(Task<T> task, Duration limit) {
  return {std::move(task), limit};
}

}  // namespace peal
