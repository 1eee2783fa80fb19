// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/thread/thread_pool.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <peal/base/assert.h>
#include <peal/base/exception.h>
#include <peal/base/log.h>

namespace peal {
namespace {

// The pool that the calling thread belongs to, or null.
constinit thread_local const ThreadPool* my_pool = nullptr;

void add(std::atomic<uint64_t>& counter, uint64_t n = 1) { counter.fetch_add(n, std::memory_order_relaxed); }

}  // namespace

ThreadPool::ThreadPool(ThreadPoolOptions options) : options_(std::move(options)), queue_(options_.queue_capacity) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::start(ThreadPoolOptions options) {
  if (options.threads == 0) options.threads = std::max(1U, std::thread::hardware_concurrency());
  std::unique_ptr<ThreadPool> pool(new ThreadPool(std::move(options)));
  for (unsigned number = 0; number < pool->options_.threads; ++number) {
    auto thread =
        Thread::start(fmt::format("{}-{}", pool->options_.name, number),
                      [self = pool.get(), number](const std::stop_token&) { self->run_queued_tasks(number); });
    if (!thread) return std::unexpected(thread.error());
    pool->threads_.push_back(std::move(*thread));
  }
  return pool;
}

void ThreadPool::run_queued_tasks(unsigned number) {
  my_pool = this;
  if (options_.on_start) call_and_log_exceptions("on_start", [&] { options_.on_start(number); });
  while (std::optional<Task> task = queue_.take()) run(*task);
}

template <class Function>
void ThreadPool::call_and_log_exceptions(const char* what, Function&& function) {
  try {
    return function();
  } catch (const Exception& error) {
    PEAL_LOG_ERROR("{} of pool {} threw: {}\n{}", what, options_.name, error.what(), LogLines{error.stack_trace()});
  } catch (...) {
    PEAL_LOG_ERROR("{} of pool {} threw: {}", what, options_.name, what_was_thrown());
  }
  add(counters_.threw);
}

void ThreadPool::run(Task& task) {
  call_and_log_exceptions("a task", task);
  task = nullptr;  // destroys what the task holds before it counts as finished
  add(counters_.finished);
}

bool ThreadPool::run_on_caller(Task& task) {
  if (queue_.closed()) return false;
  add(counters_.ran_here);
  add(counters_.submitted);
  run(task);
  return true;
}

bool ThreadPool::submit(Task&& task) {
  PEAL_ASSERT(task, "submit() of pool {} was given an empty task", options_.name);
  const bool blocks = options_.when_full == WhenFull::kBlock && my_pool != this;
  const bool queued = queue_.put(std::move(task), blocks ? kNever : TimePoint{});
  if (queued) add(counters_.submitted);
  if (queued || (!blocks && options_.when_full != WhenFull::kRefuse && run_on_caller(task))) return true;
  add(counters_.refused);
  return false;
}

void ThreadPool::stop(StopPool how) {
  PEAL_ASSERT(my_pool != this, "a task calls stop() of its own pool {}, which would wait for that task for ever",
              options_.name);
  queue_.close();
  if (how == StopPool::kDrop) add(counters_.dropped, queue_.take_all().size());
  threads_.clear();
}

ThreadPoolStats ThreadPool::stats() const {
  return {.submitted = counters_.submitted,
          .refused = counters_.refused,
          .ran_here = counters_.ran_here,
          .finished = counters_.finished,
          .threw = counters_.threw,
          .dropped = counters_.dropped,
          .queued = queue_.size()};
}

}  // namespace peal
