// SPDX-License-Identifier: BSD-3-Clause
// ArrivalCursor: one thread's share of an arrival plan, one arrival after the other. When each is due depends on the
// plan, the seed and how many came before, never on the clock or on the server: nothing that is late moves what
// follows.
//
// Threads take turns: of a plan known in closed form, thread t of n takes arrivals t, t + n, t + 2n, ... Of a Poisson
// plan each thread draws a stream of its own at 1/n of the rate; together they are the Poisson process of the whole
// rate. A drawn gap is -log(u) / rate, rounded once to 2^-12 ns; the sum of the gaps is an integer, so nothing rounds
// again and the millionth arrival is as exact as the first.
//
// Belongs to one thread; asks for no memory once it is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include <load/plan/arrival_plan.h>
#include <peal/base/clock.h>

namespace peal::load {

class ArrivalCursor {
 public:
  // The seed matters to a Poisson plan alone: the same one draws the same arrivals.
  ArrivalCursor(const ArrivalPlan& plan, TimePoint start, uint64_t seed, uint64_t thread, uint64_t threads);

  // Of the next request; kNever when the plan is over.
  TimePoint due() const { return due_; }
  // To the one after it. Nothing when the plan is over.
  void advance();
  // Passes over all that are due before `limit`; returns how many those were. Takes time in proportion for a Poisson
  // plan alone.
  uint64_t pass_before(TimePoint limit);
  // How many, the next included, are due at `now` or before. Takes time in proportion for a Poisson plan, which draws
  // them on a copy.
  uint64_t due_by(TimePoint now) const;

 private:
  // Draws the gaps of a Poisson process. splitmix64: 8 bytes of state, so that due_by() can look ahead.
  struct Draw {
    uint64_t random = 0;
    uint64_t at = 0;  // 2^-12 ns since the start
    double mean_gap = 0;

    Duration next();
  };

  void move();

  ArrivalPlan plan_;
  TimePoint start_;
  uint64_t thread_;
  uint64_t threads_;
  uint64_t taken_ = 0;  // of this thread's arrivals
  size_t piece_ = 0;
  Draw draw_;
  TimePoint due_;
};

}  // namespace peal::load
