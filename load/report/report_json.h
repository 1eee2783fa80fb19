// SPDX-License-Identifier: BSD-3-Clause
// The JSON of a run, schema 1: versus/generator.py and record_reader.h read it. Times are nanoseconds; histograms are
// HdrHistogram V2 compressed in base64, so that runs can be added up without loss. Fields are added, never changed.
#pragma once

#include <string>

#include <load/record/run_record.h>

namespace peal::load {

std::string report_json(const RunRecord& record);
// One line of NDJSON, ended: an object as in the "intervals" of the report, and when the run began.
std::string interval_line(const Interval& interval, const Outcome& so_far);

}  // namespace peal::load
