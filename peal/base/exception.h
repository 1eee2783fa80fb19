// SPDX-License-Identifier: BSD-3-Clause
// An exception that remembers where it was made. For what a user's callback or task throws: peal's own functions
// report the world's errors as Result and throw nothing.
#pragma once

#include <stdexcept>
#include <string>

#include <peal/base/stack_trace.h>

namespace peal {

class Exception : public std::runtime_error {
 public:
  // The trace begins at the caller; it costs one walk of the stack and no text until somebody asks.
  [[gnu::noinline]] explicit Exception(const std::string& message);

  // Demangled, one line a frame, as describe() writes it. Any thread.
  std::string stack_trace() const { return describe(trace_); }

 private:
  RawTrace trace_;
};

// Inside a handler, for the log: what() of what is handled, good for as long as that is; takes no memory, which may be
// what lacked.
const char* what_was_thrown() noexcept;

}  // namespace peal
