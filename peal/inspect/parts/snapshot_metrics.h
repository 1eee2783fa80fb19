// SPDX-License-Identifier: BSD-3-Clause
// Writes a snapshot as metrics for Prometheus or OpenMetrics. docs/inspector.md explains each metric.
#pragma once

#include <string>

#include <peal/inspect/parts/snapshot.h>
#include <peal/wire/metrics_text.h>

namespace peal::detail {

// Returns the text of all metrics. Their names begin with "peal_", except those that start with "process_" and those
// that the program has declared.
std::string to_metrics(const Snapshot& snapshot, MetricsFormat format);

}  // namespace peal::detail
