// SPDX-License-Identifier: BSD-3-Clause
// Hands work from one thread to another, first with a bounded queue, then with a pool of threads. The pool has such a
// queue inside.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <fmt/core.h>

#include <peal/base/thread/blocking_queue.h>
#include <peal/base/thread/thread_pool.h>

namespace {

void pass_lines() {
  // Quoted in docs: [queue]
  peal::BlockingQueue<std::string> lines(8);  // without the 8, the queue would be unbounded
  std::thread reader([&lines] {
    for (int i = 0; i < 20; ++i) lines.put("line " + std::to_string(i));  // waits while the queue is full
    lines.close();
  });
  std::size_t bytes = 0;
  while (auto line = lines.take()) bytes += line->size();  // take() returns nothing if the queue is closed and empty
  reader.join();
  // End of quote: [queue]
  fmt::print("{} bytes\n", bytes);
}

int add_up() {
  // Quoted in docs: [pool]
  std::atomic<int> sum = 0;
  auto pool = peal::ThreadPool::start(
      {.name = "adder", .threads = 2, .queue_capacity = 100, .when_full = peal::WhenFull::kRunHere});
  if (!pool) return 1;
  for (int i = 1; i <= 1000; ++i) (*pool)->submit([&sum, i] { sum += i; });
  (*pool)->stop(peal::StopPool::kDrain);
  const peal::ThreadPoolStats stats = (*pool)->stats();
  fmt::print("{}: {} tasks, {} by the submitter, {} threw\n", sum.load(), stats.finished, stats.ran_here, stats.threw);
  // End of quote: [pool]
  return sum == 500'500 ? 0 : 1;
}

}  // namespace

int main() {
  pass_lines();
  return add_up();
}
