// SPDX-License-Identifier: BSD-3-Clause
// Runs a function where a loop's objects may be touched, and waits for it.
#pragma once

#include <latch>
#include <memory>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/memory/when_released.h>
#include <peal/loop/loop.h>
#include <peal/loop/mailbox.h>

namespace peal::detail {

// Calls `task(Loop&)` at once where the caller may touch the loop (on its thread, or before it runs), otherwise on the
// loop's thread, waiting until it is done. False, and not called, when the loop has ended: its thread has left it then,
// and touches nothing of it any more. Two loops' threads that wait for each other this way wait for ever: not to be
// called on a loop's thread for another loop. Nor inside a step of a stepped loop for another one: that asserts.
template <class Task>
bool on_loop_and_wait(Mailbox& mailbox, Task&& task) {
  if (Loop* loop = mailbox.reachable()) {
    task(*loop);
    return true;
  }
  PEAL_ASSERT(!mailbox.open() || !mailbox.beside_a_step(),
              "a step of one loop waits for another loop of its own thread, where {} tasks wait", mailbox.waiting());
  // Counted down when the posted task is destroyed: after it ran, or dropped uncalled.
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

// The same, but called in any case: here, where the loop has ended, since nobody else touches what was its then.
template <class Task>
void on_loop_or_after(Mailbox& mailbox, Task&& task) {
  if (!on_loop_and_wait(mailbox, [&task](Loop&) { task(); })) task();
}

}  // namespace peal::detail
