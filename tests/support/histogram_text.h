// SPDX-License-Identifier: BSD-3-Clause
// The `.hgrm` text: a table of percentiles whose steps shrink toward 100 %, as the plotters of HdrHistogram read it.
#pragma once

#include <string>

#include <peal/observe/histogram.h>

namespace peal {

struct PercentileTextOptions {
  double unit = 1;                  // values are divided by it: 1e6 shows nanoseconds as milliseconds; > 0
  int ticks_per_half_distance = 5;  // lines for each halving of the distance to 100 %; >= 1
};

// The bytes of the Python package's output_percentile_distribution(), but for the deviation of a `unit` other
// than 1: the package leaves that one undivided, HdrHistogram itself does not, and neither does this.
std::string percentile_text(const Histogram& histogram, const PercentileTextOptions& options = {});

}  // namespace peal
