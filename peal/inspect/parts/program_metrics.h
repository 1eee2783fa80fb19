// SPDX-License-Identifier: BSD-3-Clause
// Writes the metrics that the program itself has declared (peal/observe/metrics.h), as text for Prometheus and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <peal/observe/metrics.h>
#include <peal/wire/metrics_text.h>

namespace peal::detail {

// Adds a family for each name, without a prefix. The limits of the buckets follow from the unit:
//   seconds  kTimeLimitsNs, 10 us to 10 s
//   bytes    64, 256, 1024, ... to 2^30
//   none     1, 3, 10, 30, ... to 1,000,000
void add_program_metrics(MetricsText& out, const MetricReadings& readings);

// Returns an array with an object for each metric: name, labels, kind, unit, help, and its figures. A counter and a
// gauge have `value`. A histogram has `count`, `sum`, `p50`, `p99`, `max`, and `histogram`, an array of pairs [upper
// end, count].
nlohmann::ordered_json program_metrics_json(const MetricReadings& readings);

// Returns "counter", "gauge" or "histogram".
std::string_view to_string(MetricKind kind);

// Returns a percentile of the values of `recorded`, in the unit of `reading`.
double metric_at(const MetricReading& reading, const Histogram& recorded, double percent);

}  // namespace peal::detail
