// SPDX-License-Identifier: BSD-3-Clause
// HdrHistogram's interval log, format 1.2: a histogram of latencies a line, as its HistogramLogWriter writes it and its
// readers, plotters and other people's tools take it. Times are seconds since the start, Interval_Max is milliseconds.
#pragma once

#include <string>

#include <load/record/run_record.h>

namespace peal::load {

// Of a record whose intervals keep their histograms (LoadOptions::interval_histograms); those that do not are left out.
std::string hdr_log(const RunRecord& record);

}  // namespace peal::load
