// SPDX-License-Identifier: BSD-3-Clause
// MethodStats counts the calls of one method of a protocol. RpcServer uses it. A protocol of the application can use it
// too, and the inspector shows it. It is a plain struct for one thread. Counters of several threads are summed with
// add().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <peal/observe/histogram.h>

namespace peal {

// The counters of one method.
struct MethodStats {
  std::string name;        // the full name: package.Service.Method
  uint64_t calls = 0;      // calls that have begun
  uint64_t failed = 0;     // calls that were answered with an error, those in timed_out included
  uint64_t timed_out = 0;  // of the failed calls, those that exceeded their deadline
  uint64_t cancelled = 0;  // calls that the client cancelled, or whose client closed the connection
  uint64_t threw = 0;      // calls whose handler threw an exception
  size_t under_way = 0;    // calls in progress now

  // The time from the loop turn that read the request until the handler ended, in nanoseconds, to two significant
  // digits.
  Histogram latency{{.lowest = 1'000, .significant_digits = 2}};

  // Adds the counters of `other`, and leaves the name unchanged. Throws std::invalid_argument if the latencies have
  // different HistogramOptions.
  void add(const MethodStats& other);
};

// Adds each method in `more` to the method of the same name in `sum`. Methods that `sum` does not have are appended.
// Throws std::invalid_argument as MethodStats::add() does.
void add_methods(std::vector<MethodStats>& sum, const std::vector<MethodStats>& more);

}  // namespace peal
