// SPDX-License-Identifier: BSD-3-Clause
// The JSON of a run, schema 1: versus/generator.py reads it. Times are nanoseconds; histograms are HdrHistogram V2
// compressed in base64. Fields are added, never changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <load/gates.h>
#include <load/outcome.h>

namespace peal::load {

std::string report_json(std::string_view experiment, const LoadOptions& options, const Outcome& outcome,
                        const std::vector<Gate>& gates);

}  // namespace peal::load
