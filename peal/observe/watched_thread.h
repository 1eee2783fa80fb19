// SPDX-License-Identifier: BSD-3-Clause
// The interface between StallWatchdog and the threads that it watches. Such a thread runs tasks from a queue, one after
// the other. The thread of a Loop is one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <peal/base/callback.h>
#include <peal/base/clock.h>

namespace peal {

// The task queue of a watched thread. It may outlive the thread.
class WatchedQueue {
 public:
  virtual ~WatchedQueue() = default;

  // Queues `task` to run on the watched thread, even if the queue is over its limit. Returns false if the thread has
  // ended. Any thread.
  virtual bool insist(Callback<void()> task) = 0;

  // True if the queue still accepts tasks. Any thread.
  virtual bool open() const = 0;
};

// Counters of stalls, which are written and read on the watched thread.
struct StallCounts {
  uint64_t stalls = 0;  // answers that were later than the watchdog's threshold; 0 if no watchdog watches
  Duration longest_stall{};
};

// A thread as StallWatchdog::watch() takes it. A Loop converts to it.
struct WatchedThread {
  std::shared_ptr<WatchedQueue> queue;
  StallCounts* counts = nullptr;  // must stay valid as long as the queue accepts tasks
};

namespace detail {
// The kind of callback that the calling thread runs: "a task", "timers", ... Null while it runs an engine's event or
// waits. A signal handler on the same thread may read it.
inline constinit thread_local std::atomic<const char*> running{nullptr};
}  // namespace detail

}  // namespace peal
