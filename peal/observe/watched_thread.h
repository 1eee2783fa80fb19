// SPDX-License-Identifier: BSD-3-Clause
// The interface between StallWatchdog and the threads that it watches. Such a thread runs tasks from a queue, one after
// the other. The thread of a Loop is such a thread.
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

  // Queues `task` to run on the watched thread, even if the queue is over its limit. Returns false and destroys `task`
  // if the queue accepts no more tasks. The queue of a Loop accepts none as soon as the loop begins to end. Any thread.
  virtual bool insist(Callback<void()> task) = 0;

  // True if the queue still accepts tasks: for a Loop, until the loop begins to end. Any thread.
  virtual bool open() const = 0;
};

// Counters of stalls. They are written and read only on the watched thread.
struct StallCounts {
  uint64_t stalls = 0;  // how often the watchdog's task had to wait for the threshold or longer
  Duration longest_stall{};
};

// The argument of StallWatchdog::watch(): the task queue and the counters of one thread. A Loop converts to this type.
struct WatchedThread {
  std::shared_ptr<WatchedQueue> queue;
  StallCounts* counts = nullptr;  // must stay valid until the last task of the queue has run
};

namespace detail {
// The kind of callback that the calling thread runs: "a task", "a timer", ... Null while the thread waits or runs an
// engine's event. A signal handler on the same thread may read this variable.
inline constinit thread_local std::atomic<const char*> running{nullptr};
}  // namespace detail

}  // namespace peal
