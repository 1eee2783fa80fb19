// SPDX-License-Identifier: BSD-3-Clause
// LoopGroup: n loops on n named threads, or n loops that the simulator drives with Loop::step() on one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <peal/base/assert.h>
#include <peal/base/result.h>
#include <peal/base/thread/thread.h>
#include <peal/loop/loop.h>

namespace peal {

// A group of loops. A group has one owner and is used by one thread at a time; only stop() may be called by any thread.
class LoopGroup {
 public:
  // Starts `count` threads named "<name>-0", "<name>-1", ..., each of which runs one loop. If a thread's name is too
  // long for the kernel, the end of `name` is cut off and the number stays. Returns after all loops are running. If a
  // loop cannot start, stops all loops and returns the error.
  // EINVAL: `count` is 0; Trouble::kUnsupportedEngine: this machine cannot run the engine; EAGAIN, EMFILE and similar:
  // no thread or fd is left.
  static Result<std::unique_ptr<LoopGroup>> start(size_t count, const LoopOptions& options = {},
                                                  const std::string& name = "peal-loop");
  // Makes a group of loops whose begin() has succeeded and which the caller drives with step(). Each of these loops
  // ends in its first step after stop(), or in join(). join() of such a group ends the loops at once instead of
  // waiting, and must be called outside of their steps.
  explicit LoopGroup(std::vector<std::unique_ptr<Loop>> stepped);
  // Calls stop() and join(). Must not run on one of the group's threads.
  ~LoopGroup();
  LoopGroup(const LoopGroup&) = delete;
  LoopGroup& operator=(const LoopGroup&) = delete;

  size_t size() const { return loops_.size(); }
  // Returns a loop. It lives as long as the group, even after its thread has ended. Asserts that `index` is in range.
  Loop& operator[](size_t index) {
    PEAL_ASSERT(index < loops_.size(), "loop {} of {}", index, loops_.size());
    return *loops_[index];
  }
  // Calls Loop::stop() for each loop and returns without waiting until the loops have ended. Any thread.
  void stop();
  // Waits until all threads have ended. Must not be called on one of the group's threads. A second call does nothing.
  void join();

 private:
  LoopGroup() = default;

  const bool stepped_ = false;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<Thread> threads_;  // declared after loops_, so that the threads are joined before the loops are destroyed
};

}  // namespace peal
