// SPDX-License-Identifier: BSD-3-Clause
// The stack of another thread of this process, by a signal to it. One user at a time in the process.
#pragma once

#include <sys/types.h>

#include <optional>

#include <peal/base/clock.h>
#include <peal/base/result.h>
#include <peal/base/stack_trace.h>

namespace peal::detail {

struct RemoteTrace {
  RawTrace trace;
  const char* running = nullptr;  // detail::running there
};

// Takes SIGURG over. EBUSY: somebody has.
Result<void> open_remote_traces();
// Restores SIGURG's disposition.
void close_remote_traces();
// Between the two, on one thread at a time. Nothing if the thread is gone, or ran no handler within `timeout`, as one
// that blocks the signal or sleeps uninterruptibly.
std::optional<RemoteTrace> trace_thread(pid_t thread_id, Duration timeout);

}  // namespace peal::detail
