// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/workers/worker_threads.h>

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace peal::models {

Result<void> run_worker_threads(size_t count, BlockedThreads& sleepers, const std::function<void(size_t)>& work) {
  std::vector<Thread> threads;  // the destructor of a Thread joins it
  threads.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Result<Thread> thread = Thread::start(fmt::format("worker {}", i), [&work, i](const std::stop_token&) { work(i); });
    if (!thread) {
      sleepers.wake_all();
      return std::unexpected(thread.error());
    }
    threads.push_back(std::move(*thread));
  }
  return {};
}

}  // namespace peal::models
