// SPDX-License-Identifier: BSD-3-Clause
// AsyncPool: a pool of threads for work that would block a loop: disk access, long computations, calls that block.
//
//   auto pool = peal::AsyncPool::start({.threads = 4}).value();
//   auto hash = [&] { return digest_of(file); };
//   peal::Result<Digest> digest = co_await pool->run(hash);
//
// A job that finds the queue full is refused at once, with EAGAIN, so that an overloaded server can say so. To wait for
// room instead, hold a permit of an AsyncSemaphore while the job runs.
//
// A job may refer to the frame of the coroutine that awaits it, because the await ends only after the job has ended or
// if the job never begins. So cancelling and deadlines act as follows:
// - A job that is still queued is withdrawn and never runs; the await ends at once.
// - A job that runs is waited for, and its result counts. The coroutine is resumed after it, even if the call that has
//   cancelled it (such as the destructor of a server) has returned long since. The end of the coroutine's loop waits
//   for the job, too.
// - A job that takes a std::stop_token is asked to stop.
//
// An exception that leaves a job is thrown where the job is awaited.
#pragma once

#include <atomic>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include <peal/base/thread/thread_pool.h>
#include <peal/coro/run_on.h>
#include <peal/loop/loop.h>
#include <peal/sync/lent_call.h>

namespace peal {

struct AsyncPoolOptions {
  unsigned threads = 0;       // the number of threads; 0: one for each CPU
  size_t queue_limit = 1024;  // how many jobs may wait for a thread; > 0
  std::string name = "pool";  // ThreadPoolOptions::name: the threads are named name-0, name-1, ...
};

struct AsyncPoolStats {
  size_t queued = 0;       // jobs in the queue now, including withdrawn ones
  size_t running = 0;      // jobs that run now
  uint64_t finished = 0;   // jobs that have run, including those that threw
  uint64_t refused = 0;    // jobs that found the queue full
  uint64_t withdrawn = 0;  // jobs that were cancelled while queued, or dropped by the end of the pool
};

namespace detail {

// The counters that jobs change. Each job holds a shared_ptr to the counters, because a job object may outlive its
// pool.
struct PoolCounters {
  std::atomic<size_t> running = 0;
  std::atomic<uint64_t> finished = 0, withdrawn = 0;
};

// A job: a call that a thread of the pool makes while the coroutine that awaits the job is suspended.
class PoolJob final : public LentCall {
 public:
  // The awaiting coroutine's wait for its job. This object is a part of that coroutine's frame.
  class JobWait : public Lender {
   protected:
    ~JobWait() = default;
    // Queues the job. Returns false if the queue is full.
    bool send(ThreadPool& pool, std::shared_ptr<PoolCounters> counters);
    std::stop_token stop_token() const { return static_cast<const PoolJob&>(*call_).stop_.get_token(); }
  };

  PoolJob(JobWait& wait, Loop& home, std::shared_ptr<PoolCounters> counters)
      : LentCall(wait, home, ESHUTDOWN), counters_(std::move(counters)) {}
  void cancel(Why why) noexcept override;

 private:
  void work() noexcept override;
  bool withdraw() noexcept override;

  const std::shared_ptr<PoolCounters> counters_;
  std::stop_source stop_;
};

}  // namespace detail

template <class Function>
class [[nodiscard]] PoolRun;

// A pool may be used by any thread, and by the coroutines of any number of loops. The pool must not be destroyed on one
// of its own threads.
class AsyncPool {
 public:
  // Makes a pool and starts its threads. Fails with EAGAIN if the system refuses to start another thread.
  static Result<std::unique_ptr<AsyncPool>> start(const AsyncPoolOptions& options = {});
  // Waits until the jobs that run have ended. Drops the queued jobs; the awaits of these jobs fail with ESHUTDOWN.
  ~AsyncPool();
  AsyncPool(const AsyncPool&) = delete;
  AsyncPool& operator=(const AsyncPool&) = delete;

  // Calls `job` on a thread of the pool. If `job` returns T, the await returns Result<T>, or T if T is a Result itself.
  // Fails with EAGAIN if the queue is full. `job` is borrowed until the await ends.
  template <class Function>
  PoolRun<std::remove_reference_t<Function>> run(Function&& job);
  // Returns the counters. Any thread may call this. The counters are read one after the other, so their values may
  // belong to different moments.
  AsyncPoolStats stats() const;

 private:
  template <class Function>
  friend class PoolRun;
  explicit AsyncPool(std::unique_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  const std::shared_ptr<detail::PoolCounters> counters_ = std::make_shared<detail::PoolCounters>();
  const std::unique_ptr<ThreadPool> pool_;
};

// The awaitable that AsyncPool::run() returns.
template <class Function>
class [[nodiscard]] PoolRun final : public detail::Awaitable<PoolRun<Function>, detail::PoolJob::JobWait> {
  static constexpr bool kTakesStop = std::is_invocable_v<Function&, std::stop_token>;
  static auto call(Function& function, const std::stop_token& stop) {
    if constexpr (kTakesStop) {
      return function(stop);
    } else {
      return function();
    }
  }

 public:
  using Value = decltype(call(std::declval<Function&>(), {}));
  using Answer = typename detail::RunOnAnswer<Value>::type;

  PoolRun(AsyncPool& pool, Function& function) : pool_(pool), function_(function) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    if (!this->begin(handle)) return false;
    return this->send(*pool_.pool_, pool_.counters_) || this->refuse(EAGAIN);
  }
  Answer await_resume() {
    if (thrown_) std::rethrow_exception(thrown_);
    if (!answer_) return detail::failed(this->why_);
    return std::move(*answer_);
  }
  void work() noexcept override {
    try {
      if constexpr (std::is_void_v<Value>) {
        call(function_, this->stop_token());
        answer_.emplace();
      } else {
        answer_.emplace(call(function_, this->stop_token()));
      }
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

 private:
  AsyncPool& pool_;
  Function& function_;
  std::optional<Answer> answer_;
  std::exception_ptr thrown_;
};

template <class Function>
PoolRun<std::remove_reference_t<Function>> AsyncPool::run(Function&& job) {
  static_assert(detail::kMayStandInAwait<Function>,
                "a job that owns something must be a variable declared before the co_await: g++ 12 destroys a "
                "temporary one twice");
  return {*this, job};
}

}  // namespace peal
