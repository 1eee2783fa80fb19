// SPDX-License-Identifier: BSD-3-Clause
// Writes the JSON report of a run, schema 1. record_reader.h and versus/run/generator.py read it. Times are in
// nanoseconds, except "began" and "seconds". Histograms are in the compressed V2 encoding of HdrHistogram, so that runs
// can be added up without loss. New fields may be added, but existing fields must not change.
#pragma once

#include <string>

#include <load/record/run_record.h>

namespace peal::load {

std::string report_json(const RunRecord& record);
// Returns an interval as one line of JSON with a newline (NDJSON). The line has all fields that an interval has in the
// report of report_json(). It also has the field "began", which is the time at which the measurement began.
std::string interval_line(const Interval& interval, const Outcome& so_far);

}  // namespace peal::load
