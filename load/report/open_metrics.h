// SPDX-License-Identifier: BSD-3-Clause
// Writes the results of a run as OpenMetrics 1.0 text, for example for the textfile collector or the push gateway of
// Prometheus. There are counters, gauges, and for each histogram a summary with quantiles. The units are seconds and
// bytes. The text ends with `# EOF`.
#pragma once

#include <string>

#include <load/record/run_record.h>

namespace peal::load {

std::string open_metrics(const RunRecord& record);

}  // namespace peal::load
