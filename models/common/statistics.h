// SPDX-License-Identifier: BSD-3-Clause
// Statistics: the counts of a model, in memory that its processes share. Each thread counts in its own Tally, and adds
// the Tally to the Statistics when a connection ends. Therefore counting costs a request nearly nothing. May be used on
// any thread and in any process of the model.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <peal/base/result.h>

namespace peal::models {

struct Tally {
  uint64_t accepted = 0;
  uint64_t ended = 0;      // connections that have ended, for any reason
  uint64_t requests = 0;   // frames answered
  uint64_t too_large = 0;  // connections that ended because a frame announced a body above the limit
  uint64_t timed_out = 0;  // connections that ended because they were slow in the middle of a frame or an answer
  uint64_t refused = 0;    // connections not served: the fd was too high, or no thread or process could be started
  uint64_t waited = 0;     // connections that had to wait because every coroutine was busy
  uint64_t overflows = 0;  // overflows of the queue of real-time signals
  uint64_t respawned = 0;  // processes started to replace others
};

class Statistics {
 public:
  // Allocates the counters in memory that all processes of the model share. Fails with ENOMEM.
  static Result<Statistics> make();
  Statistics(Statistics&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Statistics& operator=(Statistics&&) = delete;
  ~Statistics();

  // Adds the counts in `tally` to the shared counters, then sets `tally` to zero.
  void add(Tally& tally);
  Tally sum() const;
  // Returns the counts as a text such as "accepted 12 connections, served 12 to their end, answered 480 requests".
  // These three counts are always in the text. Each other count is added only if it is not zero, as in "; 2 refused".
  std::string to_string() const;

 private:
  struct Shared;
  explicit Statistics(Shared* shared) : shared_(shared) {}

  Shared* shared_;
};

}  // namespace peal::models
