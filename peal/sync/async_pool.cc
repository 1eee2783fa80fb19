// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/async_pool.h>

namespace peal {

namespace detail {
namespace {

// What the pool's queue holds. Destroyed uncalled, it was dropped.
class Ticket {
 public:
  explicit Ticket(std::shared_ptr<PoolJob> job) : job_(std::move(job)) {}
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (job_) job_->drop();
  }
  void operator()() { std::exchange(job_, nullptr)->run(); }

 private:
  std::shared_ptr<PoolJob> job_;
};

}  // namespace

bool PoolJob::JobWait::send(ThreadPool& pool, std::shared_ptr<PoolCounters> counters) {
  job_ = std::make_shared<PoolJob>(*this, strand().loop(), std::move(counters));
  ThreadPool::Task task = Ticket(job_);
  if (pool.submit(std::move(task))) return true;
  job_->refuse();
  return false;
}

void PoolJob::run() noexcept {
  State queued = State::kQueued;
  if (!state_.compare_exchange_strong(queued, State::kRunning)) return;
  counters_->running.fetch_add(1, std::memory_order_relaxed);
  wait_.work(stop_.get_token());
  counters_->running.fetch_sub(1, std::memory_order_relaxed);
  counters_->finished.fetch_add(1, std::memory_order_relaxed);
  // Refused: the home loop has ended, and cancel() looks.
  home_->insist([job = shared_from_this()] { job->tell(0); });
  state_.store(State::kOver, std::memory_order_release);
  state_.notify_all();
}

bool PoolJob::withdraw() {
  State queued = State::kQueued;
  if (!state_.compare_exchange_strong(queued, State::kOver)) return false;
  counters_->withdrawn.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void PoolJob::drop() noexcept {
  if (!withdraw()) return;
  home_->insist([job = shared_from_this()] { job->tell(ESHUTDOWN); });
}

void PoolJob::tell(Why why) noexcept {
  if (!std::exchange(told_, true)) wait_.over(why);
}

void PoolJob::cancel(Why why) noexcept {
  const std::shared_ptr<PoolJob> keep = shared_from_this();
  stop_.request_stop();
  if (withdraw()) return tell(why);
  if (home_->open() || told_) return;
  // Nobody can be told on a loop that has ended; so wait.
  state_.wait(State::kRunning, std::memory_order_acquire);
  tell(why);
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
