// SPDX-License-Identifier: BSD-3-Clause
// Named threads that run tasks from one bounded queue, the oldest first: for work that would hold up a loop (disks,
// long sums). The answer goes back by Loop::post. An exception that leaves a task is logged and counted; the thread
// goes on. Its owner starts, stops and destroys it; anybody may submit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/base/thread/blocking_queue.h>
#include <peal/base/thread/thread.h>

namespace peal {

enum class WhenFull {
  kBlock,    // submit() waits for room; a task of the pool itself, which could wait for ever, runs the new one in place
  kRefuse,   // submit() returns false: for loops, which must not wait
  kRunHere,  // the submitter runs the task itself, which slows down whoever makes too much work
};
enum class StopPool {
  kDrain,  // what is queued still runs
  kDrop,   // what is queued is destroyed unrun, on the thread that stops; what runs is waited for
};

struct ThreadPoolOptions {
  std::string name = "pool";  // the threads are name-0, name-1, ...; the kernel shows 15 bytes in all
  unsigned threads = 0;       // 0: one for each CPU
  std::size_t queue_capacity = 1024;
  WhenFull when_full = WhenFull::kBlock;
  // Each thread's first act, with its number from 0, to pin it or to load what it needs. Several threads call it at
  // once.
  CopyableCallback<void(unsigned)> on_start = nullptr;
};

struct ThreadPoolStats {
  uint64_t submitted = 0;  // taken on: queued or run by the submitter
  uint64_t refused = 0;    // full under kRefuse, or stopped
  uint64_t ran_here = 0;   // of those submitted, run by the submitter because the queue was full
  uint64_t finished = 0;   // those that threw included
  uint64_t threw = 0;      // tasks and start hooks
  uint64_t dropped = 0;    // by StopPool::kDrop
  std::size_t queued = 0;  // now
};

class ThreadPool {
 public:
  using Task = Callback<void()>;

  // EAGAIN: there is no thread left; those that were started have ended again.
  static Result<std::unique_ptr<ThreadPool>> start(ThreadPoolOptions options = {});
  // Drains.
  ~ThreadPool() { stop(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False: refused, and `task` has not been moved from. Asserts that there is a task. Any thread.
  bool submit(Task&& task);
  // Returns when all threads have ended. From the first call on, submit() refuses, and those it keeps waiting are
  // refused too. Not from a task; once stopped, does nothing.
  void stop(StopPool how = StopPool::kDrain);

  // Any thread; the counters are read one by one, so they may be a few tasks apart.
  ThreadPoolStats stats() const;

 private:
  struct Counters {
    std::atomic<uint64_t> submitted = 0, refused = 0, ran_here = 0, finished = 0, threw = 0, dropped = 0;
  };

  explicit ThreadPool(ThreadPoolOptions options);
  void run_queued_tasks(unsigned number);
  template <class Function>
  void call_and_log_exceptions(const char* what, Function&& function);
  void run(Task& task);
  bool run_on_caller(Task& task);

  const ThreadPoolOptions options_;
  Counters counters_;
  BlockingQueue<Task> queue_;
  std::vector<Thread> threads_;
};

}  // namespace peal
