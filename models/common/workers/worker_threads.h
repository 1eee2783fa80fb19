// SPDX-License-Identifier: BSD-3-Clause
// run_worker_threads() runs a pool of threads that sleep in blocking calls.
#pragma once

#include <cstddef>
#include <functional>

#include <models/common/stop.h>

namespace peal::models {

// Starts `count` threads. Thread number i, counted from 0, runs work(i). Returns when all threads have ended. If a
// thread cannot be started, wakes the threads that already run (sleepers.wake_all()). Then waits until they have ended,
// and fails with EAGAIN.
Result<void> run_worker_threads(size_t count, BlockedThreads& sleepers, const std::function<void(size_t)>& work);

}  // namespace peal::models
