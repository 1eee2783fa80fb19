// SPDX-License-Identifier: BSD-3-Clause
// Takes the stack trace of another thread of this process, by a signal to that thread. The process can have one user of
// these functions at a time.
#pragma once

#include <sys/types.h>

#include <optional>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/stack_trace.h>

namespace peal::detail {

// The stack and the running callback of a thread at the time when the signal reached it.
struct RemoteTrace {
  RawTrace trace;
  const char* running = nullptr;  // the value of detail::running (watched_thread.h) on that thread
};

// Installs a handler for SIGURG. Returns EBUSY if an earlier call has not been followed by close_remote_traces().
Result<void> open_remote_traces();

// Restores the disposition that SIGURG had before open_remote_traces().
void close_remote_traces();

// Returns the stack trace of a thread. May be called between open_remote_traces() and close_remote_traces(), by one
// thread at a time. Returns nullopt if the thread has ended, or if it has not run the handler within `timeout`. A
// thread does not run the handler while it blocks the signal or is in an uninterruptible sleep.
std::optional<RemoteTrace> trace_thread(pid_t thread_id, Duration timeout);

}  // namespace peal::detail
