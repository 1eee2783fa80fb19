// SPDX-License-Identifier: BSD-3-Clause
// ThreadPool runs tasks on its own threads, from one bounded queue, oldest first. It is for work that would block a
// loop, such as disk access or long computations. A task passes its result back to a loop with Loop::post().
//
// An exception that leaves a task is logged and counted, and the thread continues with the next task. Any thread may
// call submit() and stats(). One owner starts, stops and destroys the pool.
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

// Decides what submit() does if the queue is full.
enum class WhenFull {
  // submit() waits for room. A task of the same pool could wait for ever, so a submit() that such a task calls runs the
  // new task at once, on the calling thread.
  kBlock,
  // submit() returns false. Use this for calls from a loop, which must not block.
  kRefuse,
  // submit() runs the task on the calling thread, which slows down a thread that submits too much.
  kRunHere,
};

// Decides what stop() does with tasks that are still queued.
enum class StopPool {
  kDrain,  // runs them
  kDrop,   // destroys them without running them, on the thread that calls stop(); running tasks end normally
};

// The options of a pool.
struct ThreadPoolOptions {
  std::string name = "pool";          // the threads are called pool-0, pool-1, ...; the kernel keeps 15 bytes of a name
  unsigned threads = 0;               // 0 means one for each CPU
  std::size_t queue_capacity = 1024;  // in tasks; must be above 0
  WhenFull when_full = WhenFull::kBlock;

  // Called by each thread before its first task, with the thread's number from 0. Use it to pin the thread to a CPU or
  // to load data. Several threads call it at the same time.
  CopyableCallback<void(unsigned)> on_start = nullptr;
};

// Counters of a pool since its start, in tasks.
struct ThreadPoolStats {
  uint64_t submitted = 0;  // accepted: queued, or run by the thread that called submit()
  uint64_t refused = 0;    // submit() returned false: the queue was full, or the pool stopped
  uint64_t ran_here = 0;   // of `submitted`: run by the calling thread because the queue was full
  uint64_t finished = 0;   // ran to their end or threw an exception
  uint64_t threw = 0;      // tasks, and calls of on_start, that threw an exception
  uint64_t dropped = 0;    // destroyed without running, by StopPool::kDrop
  std::size_t queued = 0;  // waiting in the queue now
};

class ThreadPool {
 public:
  using Task = Callback<void()>;

  // Starts a pool with all its threads. If a thread cannot be started, ends the threads that were started and returns
  // EAGAIN.
  static Result<std::unique_ptr<ThreadPool>> start(ThreadPoolOptions options = {});

  // Calls stop(), which runs all queued tasks.
  ~ThreadPool() { stop(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Queues `task`, or does what WhenFull says if the queue is full. If the task is refused, returns false and leaves
  // `task` unchanged. Asserts if `task` is null. Any thread.
  bool submit(Task&& task);

  // Stops the pool and waits until all its threads have ended. From then on submit() returns false, also on threads
  // that are waiting in submit(). Asserts if a task of this pool calls stop(). A second call has no effect.
  void stop(StopPool how = StopPool::kDrain);

  // Returns the counters. They are read one after the other, so they may differ by a few tasks. Any thread.
  ThreadPoolStats stats() const;

 private:
  struct Counters {
    std::atomic<uint64_t> submitted = 0, refused = 0, ran_here = 0, finished = 0, threw = 0, dropped = 0;
  };

  explicit ThreadPool(ThreadPoolOptions options);

  // The body of thread `number`: calls on_start, then runs tasks until the queue is closed and empty.
  void run_queued_tasks(unsigned number);

  // Calls `function`. If an exception leaves `function`, the exception is counted and logged, with `what` as the name
  // of the function.
  template <class Function>
  void call_and_log_exceptions(const char* what, Function&& function);

  // Runs a task, destroys the task and counts it.
  void run(Task& task);

  // Runs a task on the thread that called submit(). Returns false if the pool is stopped.
  bool run_on_caller(Task& task);

  const ThreadPoolOptions options_;
  Counters counters_;
  BlockingQueue<Task> queue_;
  std::vector<Thread> threads_;
};

}  // namespace peal
