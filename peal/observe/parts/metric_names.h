// SPDX-License-Identifier: BSD-3-Clause
// The rules for names, labels and help texts of metrics. They are those of Prometheus and OpenMetrics 1.0, and some
// bounds. metrics.h says them in words. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <peal/observe/metrics.h>

namespace peal::detail {

// Returns the name of the family of a metric: `name` without the "_total" of a counter. Throws std::invalid_argument if
// the name is not allowed.
std::string checked_metric_name(MetricForm form, std::string_view name);

// Returns the labels, sorted by name and with values that can be shown. Throws std::invalid_argument if there are too
// many, or if the name of a label is not allowed.
MetricLabels checked_metric_labels(std::string_view metric, MetricLabels labels);

// Returns the help text as valid UTF-8. Throws std::invalid_argument if it is too long.
std::string checked_metric_help(std::string_view metric, std::string_view help);

// Returns the names that a family's lines in the text of metrics may begin with: "x", "x_bucket", "x_sum", "x_count"
// and "x_created" for a histogram x.
std::vector<std::string> sample_names(MetricForm form, std::string_view family);

// The ends of all names that sample_names() returns, "" among them.
inline constexpr std::string_view kSampleSuffixes[] = {"", "_total", "_bucket", "_sum", "_count", "_created"};

// Returns the unit that a family's name ends with: "seconds", "bytes", or "" for another end.
std::string_view unit_of_metric(std::string_view family);

}  // namespace peal::detail
