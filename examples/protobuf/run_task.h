// SPDX-License-Identifier: BSD-3-Clause
// Shared by the clients that are a coroutine.
#pragma once

#include <utility>

#include <examples/shared/service.h>

#include <peal/coro/scope.h>
#include <peal/loop/loop.h>

namespace peal::examples {

// Runs the loop until the task has ended. Answers the program's exit code, which is the task's answer.
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
