// SPDX-License-Identifier: BSD-3-Clause
// A function for programs whose whole work is one coroutine.
#pragma once

#include <utility>

#include <examples/shared/service.h>

#include <peal/coro/scope.h>
#include <peal/loop/loop.h>

namespace peal::examples {

// Runs the loop until the task has ended. Returns the result of the task, which is the exit code of the program.
// Returns 1 if the loop cannot run. The task must not throw, because an exception would skip the call of stop(), and
// the loop would run on.
inline int run(Loop& loop, Task<int> task) {
  int exit_code = 1;
  const auto to_its_end = [](Loop& its_loop, Task<int> its_task, int& answer) -> Task<> {
    answer = co_await std::move(its_task);
    its_loop.stop();
  };
  Scope scope(loop);
  scope.spawn(to_its_end(loop, std::move(task), exit_code));
  if (Result<void> ran = loop.run(); !ran) return failed("cannot run the loop", ran.error());
  return exit_code;
}

}  // namespace peal::examples
