// SPDX-License-Identifier: BSD-3-Clause
// FiberPool: the stackful coroutines of a loop, with a bound, used again and again. One that has ended keeps its stack,
// and the last to end is the first to begin: its stack is warm. A stack takes the memory that was ever touched of it.
// One thread; the loop outlives it, and has run until all of them have ended before it is destroyed.
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

  // A fiber begins with `body` when its turn on the loop comes. False, and `body` untouched: all are taken, or there is
  // no memory for another stack.
  bool start(Fiber::Body& body);
  // Notified when one has ended.
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
