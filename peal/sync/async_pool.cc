// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/async_pool.h>

namespace peal {

namespace detail {

bool PoolJob::JobWait::send(ThreadPool& pool, std::shared_ptr<PoolCounters> counters) {
  call_ = std::make_shared<PoolJob>(*this, strand().loop(), std::move(counters));
  ThreadPool::Task task = Ticket(call_);
  if (pool.submit(std::move(task))) return true;
  call_->refuse();
  return false;
}

void PoolJob::work() noexcept {
  counters_->running.fetch_add(1, std::memory_order_relaxed);
  LentCall::work();
  counters_->running.fetch_sub(1, std::memory_order_relaxed);
  counters_->finished.fetch_add(1, std::memory_order_relaxed);
}

bool PoolJob::withdraw() noexcept {
  if (!LentCall::withdraw()) return false;
  counters_->withdrawn.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void PoolJob::cancel(Why why) noexcept {
  stop_.request_stop();
  LentCall::cancel(why);
}

}  // namespace detail

Result<std::unique_ptr<AsyncPool>> AsyncPool::start(const AsyncPoolOptions& options) {
  auto pool = ThreadPool::start({.name = options.name,
                                 .threads = options.threads,
                                 .queue_capacity = options.queue_limit,
                                 .when_full = WhenFull::kRefuse});
  if (!pool) return std::unexpected(pool.error());
  return std::unique_ptr<AsyncPool>(new AsyncPool(std::move(*pool)));
}

AsyncPool::~AsyncPool() { pool_->stop(StopPool::kDrop); }

AsyncPoolStats AsyncPool::stats() const {
  const ThreadPoolStats pool = pool_->stats();
  return {.queued = pool.queued,
          .running = counters_->running,
          .finished = counters_->finished,
          .refused = pool.refused,
          .withdrawn = counters_->withdrawn};
}

}  // namespace peal
