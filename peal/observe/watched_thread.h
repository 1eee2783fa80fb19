// SPDX-License-Identifier: BSD-3-Clause
// What a StallWatchdog needs of a thread it watches: one that runs tasks one after the other, as a Loop's does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <peal/base/callback.h>
#include <peal/base/clock.h>

namespace peal {

// Its queue of tasks; may outlive the thread.
class WatchedQueue {
 public:
  virtual ~WatchedQueue() = default;
  // Any thread: `task` runs on the watched thread. False when that has ended.
  virtual bool insist(Callback<void()> task) = 0;
  // Any thread: whether it still takes tasks.
  virtual bool open() const = 0;
};

// Counted and read on the watched thread.
struct StallCounts {
  uint64_t stalls = 0;  // turns longer than a StallWatchdog's threshold; 0 without one
  Duration longest_stall{};
};

// A Loop converts to it.
struct WatchedThread {
  std::shared_ptr<WatchedQueue> queue;
  StallCounts* counts = nullptr;  // lives as long as the queue takes tasks
};

namespace detail {
// What the calling thread is at, for who looks at it from outside: "a task", "timers", ...; null: an engine's event, or
// nothing. Async-signal-safe.
inline constinit thread_local std::atomic<const char*> running{nullptr};
}  // namespace detail

}  // namespace peal
