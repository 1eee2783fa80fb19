// SPDX-License-Identifier: BSD-3-Clause
// run_when_released(): a step that follows several others, or that follows one which may be dropped without running.
// Each of them holds a copy of the returned pointer. The step runs when the last copy is destroyed:
//
//   const std::shared_ptr<void> all_stopped = run_when_released([&] { begin_to_drain(); });
//   for (Acceptor& acceptor : acceptors) acceptor.stop(all_stopped);
#pragma once

#include <memory>
#include <utility>

namespace peal {

// Returns a pointer that calls `step()` once, on the thread that destroys its last copy. The call is made inside a
// destructor, so an exception that leaves `step()` ends the process. If there is no memory for the pointer, `step()` is
// called at once and std::bad_alloc is thrown.
// get() of the pointer returns `key`, which is never dereferenced. Code can find the pointer among others by it, as
// Loop::let_go() does.
template <class Step>
std::shared_ptr<void> run_when_released(Step step, void* key = nullptr) {
  return std::shared_ptr<void>(key, [step = std::move(step)](void*) mutable noexcept { step(); });
}

}  // namespace peal
