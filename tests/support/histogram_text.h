// SPDX-License-Identifier: BSD-3-Clause
// percentile_text(): a histogram in the `.hgrm` format, a table of percentiles whose steps shrink toward 100 %. The
// plotting tools of HdrHistogram read it.
#pragma once

#include <string>

#include <peal/observe/histogram.h>

namespace peal {

struct PercentileTextOptions {
  double unit = 1;                  // Values are divided by this: 1e6 shows nanoseconds as milliseconds. Must be > 0.
  int ticks_per_half_distance = 5;  // Lines for each halving of the distance to 100 %. Must be >= 1.
};

// Returns the same bytes as output_percentile_distribution() of HdrHistogram's Python package, with one exception. This
// function divides the standard deviation by `unit`, as the original HdrHistogram in Java does. The Python package does
// not divide it.
std::string percentile_text(const Histogram& histogram, const PercentileTextOptions& options = {});

}  // namespace peal
