// SPDX-License-Identifier: BSD-3-Clause
// A snapshot as metrics. docs/inspector.md tells what each means.
#pragma once

#include <string>

#include <peal/inspect/parts/snapshot.h>
#include <peal/wire/metrics_text.h>

namespace peal::detail {

std::string to_metrics(const Snapshot& snapshot, MetricsFormat format);

}  // namespace peal::detail
