// SPDX-License-Identifier: BSD-3-Clause
// Runs a function on a thread that may touch a loop's objects, and waits until the function has returned.
#pragma once

#include <latch>
#include <memory>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/memory/when_released.h>
#include <peal/loop/loop.h>
#include <peal/loop/mailbox.h>

namespace peal::detail {

// Calls `task(Loop&)` at once if the calling thread may touch the loop: on the loop's thread, or before the loop runs.
// Otherwise posts `task` to the loop's thread and waits until the task has returned.
// Returns false without calling `task` if the loop has begun to end or destroys the task without a call. When false is
// returned, the loop's thread has left run() and touches none of the loop's objects any more.
// Must not be called on one loop's thread for another loop: two threads that wait for each other would deadlock.
// Asserts if it is called inside a step of one stepped loop for another stepped loop that has not begun to end.
template <class Task>
bool on_loop_and_wait(Mailbox& mailbox, Task&& task) {
  if (Loop* loop = mailbox.reachable()) {
    task(*loop);
    return true;
  }
  PEAL_ASSERT(!mailbox.open() || !mailbox.beside_a_step(),
              "a step of one loop waits for another loop of its own thread, where {} tasks wait", mailbox.waiting());
  // The latch is counted down when the posted closure is destroyed. That happens even if the loop destroys the closure
  // without calling it.
  std::latch over(1);
  std::shared_ptr<void> ends = run_when_released([&over] { over.count_down(); });
  bool called = false;
  mailbox.insist([&task, &mailbox, &called, ends = std::move(ends)] {
    task(*mailbox.here());
    called = true;
  });
  over.wait();
  if (!called) mailbox.wait_until_left();
  return called;
}

// Calls `task()` as on_loop_and_wait() does. If the loop has ended, calls `task()` on the calling thread instead. That
// is safe, because no other thread touches the ended loop's objects.
template <class Task>
void on_loop_or_after(Mailbox& mailbox, Task&& task) {
  if (!on_loop_and_wait(mailbox, [&task](Loop&) { task(); })) task();
}

}  // namespace peal::detail
