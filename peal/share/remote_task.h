// SPDX-License-Identifier: BSD-3-Clause
// RemoteTask: a post or a timer on a loop, given to it from any thread and withdrawn from any thread.
//
//   peal::RemoteTask later = peal::after_on(loop, 5s, [] { ... });
//   if (later.cancel()) ...   // it does not run
//
// The task runs on the loop's thread and dies there, soon after its last call or after it was cancelled, at the latest
// when the loop ends; refused, it dies on the caller. What it throws is logged and counted as of any task of the loop.
#pragma once

#include <memory>

#include <peal/base/callback.h>
#include <peal/base/clock.h>
#include <peal/loop/loop.h>

namespace peal {

namespace detail {
class RemoteCall;
}  // namespace detail

// Names one task; copies name the same. Any thread. Letting go of it leaves the task as it is. It may outlive the loop.
class RemoteTask {
 public:
  // Names none.
  RemoteTask() = default;
  // False: the loop has refused it, having stopped or `post_limit` tasks waiting; or it names none.
  explicit operator bool() const { return call_ != nullptr; }
  // True: it was waiting, and is never called any more. False: nothing was left to withdraw, since it has been called,
  // is being called, was cancelled before, or refused; one of every_on() that is being called is called for the last
  // time.
  bool cancel() const;

 private:
  friend class detail::RemoteCall;
  explicit RemoteTask(std::shared_ptr<detail::RemoteCall> call) : call_(std::move(call)) {}

  std::shared_ptr<detail::RemoteCall> call_;
};

// Any thread, while the loop is there. As Loop::post(), after() and every(); time counts from this call, not from when
// the loop hears of it. A period that is not > 0: std::invalid_argument.
RemoteTask post_on(Loop& loop, Callback<void()> task);
RemoteTask after_on(Loop& loop, Duration delay, Callback<void()> task);
RemoteTask every_on(Loop& loop, Duration period, Callback<void()> task);

}  // namespace peal
