// SPDX-License-Identifier: BSD-3-Clause
// Statistics: what a model counts, in memory that its processes share. Each thread counts in a Tally of its own and
// adds it up when a connection ends, so that counting costs a request nothing. Any thread, any process of the model.
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
  uint64_t ended = 0;      // connections served to their end, whoever ended them
  uint64_t requests = 0;   // frames answered
  uint64_t too_large = 0;  // of the ended: a frame announced more than the longest body
  uint64_t timed_out = 0;  // of the ended: too slow within a frame, or did not take the answer
  uint64_t refused = 0;    // closed at once: no room for them (FD_SETSIZE, no thread, no process)
  uint64_t waited = 0;     // found every coroutine taken, and waited for one
  uint64_t overflows = 0;  // the queue of real-time signals overflowed
  uint64_t respawned = 0;  // processes that took the place of others
};

class Statistics {
 public:
  // ENOMEM.
  static Result<Statistics> make();
  Statistics(Statistics&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Statistics& operator=(Statistics&&) = delete;
  ~Statistics();

  // Adds `tally` and clears it.
  void add(Tally& tally);
  Tally sum() const;
  // "served 12 connections, 480 requests"; then what is not zero of the rest.
  std::string to_string() const;

 private:
  struct Shared;
  explicit Statistics(Shared* shared) : shared_(shared) {}

  Shared* shared_;
};

}  // namespace peal::models
