// SPDX-License-Identifier: BSD-3-Clause
// RemoteTask: a post or a timer on a loop. Any thread may start it, and any thread may cancel it.
//
//   peal::RemoteTask later = peal::after_on(loop, 5s, [] { ... });
//   if (later.cancel()) ...   // it does not run
//
// The task is called on the loop's thread and destroyed there: soon after its last call, or soon after it was
// cancelled, at the latest when the loop ends. A task that the loop refuses is destroyed on the calling thread. An
// exception of the task is logged and counted like that of any task of the loop.
#pragma once

#include <memory>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/loop/loop.h>

namespace peal {

namespace detail {
class RemoteCall;
}  // namespace detail

// A handle of one task. Copies of a handle refer to the same task. Any thread may use a handle. Destroying a handle
// does not cancel the task. A handle may outlive the loop.
class RemoteTask {
 public:
  // Makes a handle that refers to no task.
  RemoteTask() = default;
  // True if the handle refers to a task that the loop has accepted. A loop refuses tasks after it has stopped. It
  // also refuses tasks of other threads while LoopOptions::post_limit tasks wait in its queue.
  explicit operator bool() const { return call_ != nullptr; }
  // Cancels the task. Returns true if the task was waiting to be called: then it is not called any more. Returns false
  // if the task was called for the last time, is being called, was cancelled before, or was refused. If a task of
  // every_on() is being called at this moment, it is not called again afterwards.
  bool cancel() const;

 private:
  friend class detail::RemoteCall;
  explicit RemoteTask(std::shared_ptr<detail::RemoteCall> call) : call_(std::move(call)) {}

  std::shared_ptr<detail::RemoteCall> call_;
};

// post_on(), after_on() and every_on() start a task on `loop`, as Loop::post(), Loop::after() and Loop::every() do. Any
// thread may call these functions while the loop exists. `delay` and `period` count from the call of the function, not
// from when the loop takes the task. every_on() throws std::invalid_argument if `period` is not above 0.
RemoteTask post_on(Loop& loop, Callback<void()> task);
RemoteTask after_on(Loop& loop, Duration delay, Callback<void()> task);
RemoteTask every_on(Loop& loop, Duration period, Callback<void()> task);

}  // namespace peal
