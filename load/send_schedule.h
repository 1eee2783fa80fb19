// SPDX-License-Identifier: BSD-3-Clause
// SendSchedule: when each message of one thread is due, in closed form, so that neither a late wake-up nor a slow
// server moves what follows. A plain value.
//
// Threads take turns: of all messages, at a constant rate from `start` on, thread t of n takes t, t + n, t + 2n, ...
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <peal/base/assert.h>
#include <peal/base/clock.h>

namespace peal::load {

class SendSchedule {
 public:
  // `rate` messages a second over all `threads`; > 0.
  SendSchedule(TimePoint start, double rate, uint64_t thread, uint64_t threads)
      : start_(start), interval_ns_(1e9 / rate), thread_(thread), threads_(threads) {
    PEAL_ASSERT(rate > 0 && thread < threads, "thread {} of {} at {} messages a second", thread, threads, rate);
  }

  // When message `k` of this thread is due.
  TimePoint due(uint64_t k) const {
    return start_ + Duration(std::llround(static_cast<double>(k * threads_ + thread_) * interval_ns_));
  }
  // How many of them are due at `now` or were before.
  uint64_t due_by(TimePoint now) const {
    if (now < start_) return 0;
    const double whole = static_cast<double>((now - start_).count()) / interval_ns_ - static_cast<double>(thread_);
    if (whole < -1) return 0;
    // The division rounds; the answer is the one that agrees with due().
    auto count = static_cast<uint64_t>(std::max(whole, 0.0) / static_cast<double>(threads_));
    while (count > 0 && due(count - 1) > now) --count;
    while (due(count) <= now) ++count;
    return count;
  }

 private:
  TimePoint start_;
  double interval_ns_;
  uint64_t thread_;
  uint64_t threads_;
};

}  // namespace peal::load
