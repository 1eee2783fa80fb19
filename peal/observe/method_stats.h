// SPDX-License-Identifier: BSD-3-Clause
// MethodStats: how the calls of one method of a protocol went, as plain counters. RpcServer counts with it; so can a
// protocol of your own, and the inspector shows it. One thread counts; sums of several threads are made with add().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <peal/observe/histogram.h>

namespace peal {

struct MethodStats {
  std::string name;        // full: package.Service.Method
  uint64_t calls = 0;      // that have begun
  uint64_t failed = 0;     // answered with an error, those that were too late included
  uint64_t timed_out = 0;  // of the failed ones, those that were too late
  uint64_t cancelled = 0;  // given up by the client, or the client had gone
  uint64_t threw = 0;      // an exception left the handler
  size_t under_way = 0;    // now
  // From the turn in which the request was read until the handler has ended; in nanoseconds, to two digits.
  Histogram latency{{.lowest = 1'000, .significant_digits = 2}};

  // std::invalid_argument: the other's latency has other HistogramOptions.
  void add(const MethodStats& other);
};

// Adds each of `more` to the one of its name in `sum`. Methods that `sum` lacks are appended. Throws as
// MethodStats::add.
void add_methods(std::vector<MethodStats>& sum, const std::vector<MethodStats>& more);

}  // namespace peal
