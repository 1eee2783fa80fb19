// SPDX-License-Identifier: BSD-3-Clause
// The threads of a pool that sleep in blocking calls.
#pragma once

#include <cstddef>
#include <functional>

#include <models/common/stop.h>

namespace peal::models {

// Runs `work` on `count` threads, each with an index from 0, and returns when all have ended. EAGAIN: there was no
// thread for all of them; those that had begun were woken to end.
Result<void> run_worker_threads(size_t count, BlockedThreads& sleepers, const std::function<void(size_t)>& work);

}  // namespace peal::models
