// SPDX-License-Identifier: BSD-3-Clause
// Writes the latency histograms of a run as an interval log of HdrHistogram, format 1.2. Each line has the histogram of
// one interval. Other programs can read and plot the log, because it is written as HdrHistogram's HistogramLogWriter
// writes it. Times are in seconds since the measurement began; the column Interval_Max is in milliseconds.
#pragma once

#include <string>

#include <load/record/run_record.h>

namespace peal::load {

// Returns the latency histograms of a run as an interval log of HdrHistogram. The log has one line for each interval of
// the run that has a histogram. Intervals have histograms only if LoadOptions::interval_histograms was set.
std::string hdr_log(const RunRecord& record);

}  // namespace peal::load
