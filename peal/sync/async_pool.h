// SPDX-License-Identifier: BSD-3-Clause
// AsyncPool: threads that do for a task what would hold up its loop: disks, long sums, calls that block.
//
//   auto pool = peal::AsyncPool::start({.threads = 4}).value();
//   auto hash = [&] { return digest_of(file); };
//   peal::Result<Digest> digest = co_await pool->run(hash);
//
// What does not find room in the queue is refused, with EAGAIN, at once: a server that is behind says so. Who would
// rather wait for room holds a permit of an AsyncSemaphore while it runs something.
//
// A job may refer to the frame of the task that awaits it: the wait ends only when the job has, or before it has begun.
// So cancelling, or a deadline, ends the wait of a job that is still queued, which never runs then; of one that runs it
// waits for the end, whose answer counts; the task goes on then, even if what has cancelled it (the destructor of a
// server) is over. The end of the task's loop waits for it too. A job that takes a std::stop_token is asked to stop.
//
// An exception that leaves a job is thrown where it is awaited.
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
  unsigned threads = 0;       // 0: one for each CPU
  size_t queue_limit = 1024;  // jobs that wait for a thread; > 0
  std::string name = "pool";  // as ThreadPoolOptions'
};

struct AsyncPoolStats {
  size_t queued = 0;       // now; those whose wait has ended included
  size_t running = 0;      // now
  uint64_t finished = 0;   // those that threw included
  uint64_t refused = 0;    // no room
  uint64_t withdrawn = 0;  // cancelled while they were queued, or dropped by the end of the pool
};

namespace detail {

struct PoolCounters {
  std::atomic<size_t> running = 0;
  std::atomic<uint64_t> finished = 0, withdrawn = 0;
};

class PoolJob final : public LentCall {
 public:
  // In the awaiting frame.
  class JobWait : public Lender {
   protected:
    ~JobWait() = default;
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

// Any thread may use it, and tasks of any number of loops. Its owner destroys it, on none of its threads; see there.
class AsyncPool {
 public:
  // EAGAIN: there is no thread left.
  static Result<std::unique_ptr<AsyncPool>> start(const AsyncPoolOptions& options = {});
  // Waits for the jobs that run. What is queued is dropped, and its waits end with ESHUTDOWN.
  ~AsyncPool();
  AsyncPool(const AsyncPool&) = delete;
  AsyncPool& operator=(const AsyncPool&) = delete;

  // Calls `job` on a thread of the pool. Answers Result<T>, or T where that is a Result already; EAGAIN: no room.
  // Borrowed until the await ends.
  template <class Function>
  PoolRun<std::remove_reference_t<Function>> run(Function&& job);
  // Any thread; counted one by one.
  AsyncPoolStats stats() const;

 private:
  template <class Function>
  friend class PoolRun;
  explicit AsyncPool(std::unique_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  const std::shared_ptr<detail::PoolCounters> counters_ = std::make_shared<detail::PoolCounters>();
  const std::unique_ptr<ThreadPool> pool_;
};

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
