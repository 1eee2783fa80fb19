// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/workers/run_together.h>

#include <latch>

#include <peal/base/mutex.h>
#include <peal/base/thread/thread.h>

namespace peal::models {
namespace {

struct Outcome {
  Mutex mutex;
  std::error_code error PEAL_GUARDED_BY(mutex);

  void failed(std::error_code why) {
    MutexLock lock(mutex);
    if (!error) error = why;
  }
};

}  // namespace

Result<void> run_together(const std::vector<ThreadRole>& roles) {
  Outcome outcome;
  std::latch all_there(1);
  bool go = false;  // written before the latch opens; the threads read it only after that
  {
    std::vector<Thread> threads;  // joined at the end of this block
    for (const ThreadRole& role : roles) {
      auto thread = Thread::start(role.name, [&, &body = role.body](const std::stop_token&) {
        all_there.wait();
        if (!go) return;
        if (Result<void> done = body(); !done) outcome.failed(done.error());
      });
      if (!thread) {
        outcome.failed(thread.error());
        break;
      }
      threads.push_back(std::move(*thread));
    }
    go = threads.size() == roles.size();
    all_there.count_down();
  }
  MutexLock lock(outcome.mutex);
  if (outcome.error) return std::unexpected(outcome.error);
  return {};
}

}  // namespace peal::models
