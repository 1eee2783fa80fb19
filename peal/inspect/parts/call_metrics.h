// SPDX-License-Identifier: BSD-3-Clause
// The metrics of methods and routes: part of the text of snapshot_metrics.h.
#pragma once

#include <peal/inspect/parts/snapshot.h>
#include <peal/wire/metrics_text.h>

namespace peal::detail {

// Add the metrics of the methods, and of the routes, of all servers. Add nothing if no server has any.
void add_method_metrics(MetricsText& out, const Snapshot& snapshot);
void add_route_metrics(MetricsText& out, const Snapshot& snapshot);

}  // namespace peal::detail
