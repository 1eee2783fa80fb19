// SPDX-License-Identifier: BSD-3-Clause
// FiberPool: the stackful coroutines of a loop, at most `most` of them. A fiber whose function has ended keeps its
// stack and can run another function. The fiber that ended last is used first, because its stack is still in the CPU's
// cache. A stack occupies all the memory that was ever touched in it.
//
// Use a FiberPool on one thread only. The loop must outlive the pool. All fibers must have ended before the pool is
// destroyed.
#pragma once

#include <memory>
#include <vector>

#include <models/common/coroutine/co_condition.h>
#include <models/common/coroutine/coroutine_loop.h>
#include <models/common/coroutine/fiber.h>

namespace peal::models {

class FiberPool {
 public:
  FiberPool(CoroutineLoop& loop, Contexts contexts, size_t most)
      : loop_(loop), contexts_(contexts), most_(most), free_again_(loop) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // Gives the function `body` to a fiber, and schedules the fiber on the loop. If no fiber is free, creates a new one.
  // Returns false and leaves `body` unchanged in two cases:
  // - The pool has its maximum number of fibers, and none of them is free.
  // - No memory is free for the stack of a new fiber.
  bool start(Fiber::Body& body);
  // Returns the condition on which a coroutine can wait for a free fiber. Each time a fiber becomes free, one waiting
  // coroutine is scheduled.
  CoCondition& free_again() { return free_again_; }

 private:
  friend class Fiber;
  bool grow();
  void give_back(Fiber& fiber);

  CoroutineLoop& loop_;
  const Contexts contexts_;
  const size_t most_;
  CoCondition free_again_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
};

}  // namespace peal::models
