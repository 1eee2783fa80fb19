// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/fiber_pool.h>

#include <utility>

#include <peal/base/assert.h>

namespace peal::models {

FiberPool::~FiberPool() {
  PEAL_ASSERT(free_.size() == fibers_.size(), "{} of {} fibers have not ended", fibers_.size() - free_.size(),
              fibers_.size());
}

bool FiberPool::start(Fiber::Body& body) {
  if (free_.empty() && !grow()) return false;
  Fiber& fiber = *free_.back();
  free_.pop_back();
  fiber.start(std::move(body));
  loop_.begin(fiber);
  return true;
}

bool FiberPool::grow() {
  if (fibers_.size() == most_) return false;
  Result<FiberStack> stack = FiberStack::make();
  if (!stack) return false;
  fibers_.push_back(std::make_unique<Fiber>(*this, contexts_, std::move(*stack)));
  free_.push_back(fibers_.back().get());
  return true;
}

void FiberPool::give_back(Fiber& fiber) {
  free_.push_back(&fiber);
  loop_.ended();
  free_again_.notify_one();
}

}  // namespace peal::models
