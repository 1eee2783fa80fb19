// SPDX-License-Identifier: BSD-3-Clause
// ArrivalCursor: steps through one thread's share of an ArrivalPlan, which is the send schedule of an open loop. The
// time of an arrival depends only on the plan, the seed and the number of the arrival. It never depends on the clock or
// the server. So a message that is sent or answered late does not delay later arrivals.
//
// There are two ways in which threads share the arrivals of a plan:
// - Poisson plan: each of n threads draws random arrivals at 1/n of the rate. Together these are a Poisson process with
//   the full rate. A gap is -log(u) / rate for a random u, rounded to 2^-12 ns. The gaps are added up as integers, so
//   adding causes no further rounding errors.
// - Any other plan: thread t of n takes the arrivals t, t + n, t + 2n, and so on.
//
// A cursor is used on one thread. It allocates no memory after construction.
#pragma once

#include <cstddef>
#include <cstdint>

#include <load/plan/arrival_plan.h>
#include <peal/base/clock.h>

namespace peal::load {

class ArrivalCursor {
 public:
  // Makes a cursor that stands at the first request of thread number `thread`. There are `threads` threads, and their
  // numbers begin at 0. `plan` is the send schedule of all threads together, and the schedule begins at the time
  // `start`. `seed` is used only for a Poisson plan, because its times are random. The times of a thread are always the
  // same if the plan, the seed and the number of threads are the same.
  ArrivalCursor(const ArrivalPlan& plan, TimePoint start, uint64_t seed, uint64_t thread, uint64_t threads);

  // Returns the time at which this thread has to send its next request. Returns kNever if no request is left.
  TimePoint due() const { return due_; }
  // Moves the cursor to this thread's next request. Does nothing if no request is left.
  void advance();
  // Skips all requests whose scheduled time is before `limit`. Returns the number of skipped requests. With a Poisson
  // plan, skipping many requests takes long, because the time of each request is drawn at random.
  uint64_t pass_before(TimePoint limit);
  // Returns how many requests this thread has to send from the current position of the cursor up to the time `now`,
  // inclusive. Does not move the cursor. With a Poisson plan, counting many requests takes long, because the time of
  // each request is drawn at random.
  uint64_t due_by(TimePoint now) const;

 private:
  // Draws the random times of a Poisson plan with the generator splitmix64. due_by() copies this object and draws the
  // next times from the copy, so the original does not change. The object is small, so copying it is cheap.
  struct Draw {
    uint64_t random = 0;
    uint64_t at = 0;  // time of the last arrival after the start, in units of 2^-12 ns
    double mean_gap = 0;

    Duration next();
  };

  void move();

  ArrivalPlan plan_;
  TimePoint start_;
  uint64_t thread_;
  uint64_t threads_;
  uint64_t taken_ = 0;  // how many of this thread's arrivals were passed
  size_t piece_ = 0;
  Draw draw_;
  TimePoint due_;
};

}  // namespace peal::load
