// SPDX-License-Identifier: BSD-3-Clause
// run_process() starts a program, writes its whole input, reads its whole output, and waits for its end:
//
//   auto answer = co_await run_process({"git", "rev-parse", "HEAD"});
//
// All of it happens on the loop of the awaiting task. For a dialog with the program, use a Subprocess.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/coro/task.h>
#include <peal/process/subprocess.h>

namespace peal {

// Everything that RunOptions refers to must live until the await ends. This is so if run_process() is awaited in the
// same expression in which the RunOptions is made.
struct RunOptions {
  // The bytes for the program's standard input, which is /dev/null if this is empty. The program need not read them.
  std::string_view input = {};
  // The most bytes that the program may write to standard output. The same limit holds for standard error.
  size_t output_limit_bytes = 1024 * 1024;
  Duration timeout = std::chrono::seconds(30);
  // Further options. The members input, output and errors of `process` are ignored.
  SubprocessOptions process = {};
};
// g++ 12 destroys a temporary in an awaited expression twice, which is harmless only if the destructor is trivial.
static_assert(std::is_trivially_destructible_v<RunOptions>);

struct ProcessAnswer {
  ExitStatus status;
  std::string output;
  std::string errors;
};

// Completes when the program has ended, its output and errors have ended, and its input was read or refused. Output
// ends only when no process has it open any more, so a grandchild that inherited it delays the completion.
// Fails with the errors of Subprocess::start() and Subprocess::wait(), and with:
//   EMSGSIZE       the program wrote more than output_limit_bytes
//   ETIMEDOUT      `timeout` has passed
//   ECONNABORTED   a limit of SubprocessOptions::stream, or of memory, cut a stream off
// When it fails or is cancelled, the program is killed (SIGKILL) and the loop reaps it. The program's process group is
// killed with it, unless SubprocessOptions::own_group is false.
Task<Result<ProcessAnswer>> run_process(Command command, RunOptions options = {});

}  // namespace peal
