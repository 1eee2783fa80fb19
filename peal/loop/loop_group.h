// SPDX-License-Identifier: BSD-3-Clause
// LoopGroup: n loops on n named threads; or n loops that somebody drives by steps, as the simulator does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <peal/base/assert.h>
#include <peal/base/result.h>
#include <peal/base/thread/thread.h>
#include <peal/loop/loop.h>

namespace peal {

// One owner, on one thread at a time, but for stop().
class LoopGroup {
 public:
  // Starts `count` (> 0) threads named "<name>-0"..., each running a loop; a name too long for the kernel loses its
  // end, not its number. Returns once every one is running, or the first error (EINVAL for no loops, an engine that
  // cannot run here, no thread or fd left) with all of them stopped again.
  static Result<std::unique_ptr<LoopGroup>> start(size_t count, const LoopOptions& options = {},
                                                  const std::string& name = "peal-loop");
  // Of loops that somebody drives by steps: each has begun. A loop ends in its step after stop(), or in join(), which
  // waits for nobody then and is called outside of their steps.
  explicit LoopGroup(std::vector<std::unique_ptr<Loop>> stepped);
  // Stops and joins; not on one of the group's threads.
  ~LoopGroup();
  LoopGroup(const LoopGroup&) = delete;
  LoopGroup& operator=(const LoopGroup&) = delete;

  size_t size() const { return loops_.size(); }
  // The loop outlives its thread's end and dies with the group.
  Loop& operator[](size_t index) {
    PEAL_ASSERT(index < loops_.size(), "loop {} of {}", index, loops_.size());
    return *loops_[index];
  }
  // Any thread. Asynchronous.
  void stop();
  // Waits until all threads have ended. Not on one of the group's threads. Doing it twice is harmless.
  void join();

 private:
  LoopGroup() = default;

  const bool stepped_ = false;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<Thread> threads_;  // destroyed, so joined, before the loops
};

}  // namespace peal
