// SPDX-License-Identifier: BSD-3-Clause
// A run as OpenMetrics 1.0 text, for a textfile collector or a push gateway: counters, gauges, and a summary with
// quantiles for each histogram. Base units: seconds and bytes. It ends with `# EOF`.
#pragma once

#include <string>

#include <load/record/run_record.h>

namespace peal::load {

std::string open_metrics(const RunRecord& record);

}  // namespace peal::load
