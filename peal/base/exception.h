// SPDX-License-Identifier: BSD-3-Clause
// Exception is a std::runtime_error with the stack trace of the place where it was made. Callbacks and tasks of the
// application may throw it. The library's own functions do not: they report errors of the outside world as Result.
#pragma once

#include <stdexcept>
#include <string>

#include <peal/base/stack_trace.h>

namespace peal {

class Exception : public std::runtime_error {
 public:
  // Captures the stack, starting at the function that creates the exception. That costs one walk of the stack. The
  // addresses become text only in stack_trace().
  [[gnu::noinline]] explicit Exception(const std::string& message);

  // Returns the stack in the form of describe() (stack_trace.h): one line for each frame, names demangled. Any thread.
  std::string stack_trace() const { return describe(trace_); }

 private:
  RawTrace trace_;
};

// Returns what() of the exception that is being handled, for a log line, or a fixed text if the exception is no
// std::exception. May be called only inside a catch block. The text is valid until the exception is destroyed. No
// memory is allocated, since the exception may be a std::bad_alloc.
const char* what_was_thrown() noexcept;

}  // namespace peal
