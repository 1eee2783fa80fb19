// SPDX-License-Identifier: BSD-3-Clause
// co_await run_process({"git", "rev-parse", "HEAD"}): starts a program, gives it its whole input, takes its whole
// output, and waits for its end; on the loop of the task that awaits. Where there is more to say, that is a Subprocess.
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

// What is referred to must live until the await ends: await in the same expression.
struct RunOptions {
  std::string_view input = {};              // it need not be read
  size_t output_limit_bytes = 1024 * 1024;  // of output, and of errors
  Duration timeout = std::chrono::seconds(30);
  SubprocessOptions process = {};  // but for input, output and errors
};
// g++ 12 destroys such a temporary of an awaited expression twice.
static_assert(std::is_trivially_destructible_v<RunOptions>);

struct ProcessAnswer {
  ExitStatus status;
  std::string output;
  std::string errors;
};

// Done when the program has ended, and nobody has its output or input that was not read any more. Errors of
// Subprocess::start() and wait(); EMSGSIZE: it wrote more; ETIMEDOUT; ECONNABORTED: a limit of
// SubprocessOptions::stream or of memory cut it off from its input or output. Whatever fails, a cancellation too, it is
// killed then, and with it its group, unless that is not its own; the loop reaps it.
Task<Result<ProcessAnswer>> run_process(Command command, RunOptions options = {});

}  // namespace peal
