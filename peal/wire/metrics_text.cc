// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/metrics_text.h>

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <peal/base/printable.h>

namespace peal {
namespace {

// Appends `value` with a backslash before each backslash and quote, and with "\n" for each newline. Label values and
// help texts are escaped in this way in both formats (OpenMetrics 1.0, "escaped-string").
void append_escaped_metric(std::string& text, std::string_view value) {
  while (!value.empty()) {
    const TextCharacter first = first_character(value);
    if (first.code == kNoCharacter) {
      text += "\xEF\xBF\xBD";  // U+FFFD
    } else if (first.code == '\n') {
      text += "\\n";
    } else {
      if (first.code == '\\' || first.code == '"') text += '\\';
      text += value.substr(0, first.bytes);
    }
    value.remove_prefix(first.bytes);
  }
}

void append_metric_labels(std::string& text, std::span<const MetricLabel> labels) {
  for (const MetricLabel& label : labels) {
    if (!text.empty() && text.back() != '{') text += ',';
    text += label.name;
    text += "=\"";
    append_escaped_metric(text, label.value);
    text += '"';
  }
}

std::string_view type_name(MetricType type, MetricsFormat format) {
  switch (type) {
    case MetricType::kCounter: return "counter";
    case MetricType::kGauge: return "gauge";
    case MetricType::kHistogram: return "histogram";
    case MetricType::kSummary: return "summary";
    case MetricType::kInfo: return format == MetricsFormat::kOpenMetrics ? "info" : "gauge";
  }
  return "unknown";
}

}  // namespace

MetricsText::MetricsText(MetricsFormat format, std::string_view prefix, std::initializer_list<MetricLabel> common)
    : format_(format), prefix_(prefix) {
  append_metric_labels(common_, std::span(common.begin(), common.size()));
}

void MetricsText::family(std::string_view name, MetricType type, std::string_view unit, std::string_view help) {
  const bool open = format_ == MetricsFormat::kOpenMetrics;
  name_ = fmt::format("{}{}", prefix_, name);
  // In the Prometheus format the name of a counter's or an info's family ends in the suffix of its samples.
  std::string_view suffix;
  if (!open && type == MetricType::kCounter) suffix = "_total";
  if (!open && type == MetricType::kInfo) suffix = "_info";
  text_ += fmt::format("# TYPE {}{} {}\n", name_, suffix, type_name(type, format_));
  if (open && !unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name_, unit);
  text_ += fmt::format("# HELP {}{} ", name_, suffix);
  append_escaped_metric(text_, help);
  text_ += '\n';
}

void MetricsText::sample(std::string_view suffix, double value, std::span<const MetricLabel> labels) {
  text_ += name_;
  text_ += suffix;
  if (!common_.empty() || !labels.empty()) {
    text_ += '{';
    text_ += common_;
    append_metric_labels(text_, labels);
    text_ += '}';
  }
  if (std::isinf(value)) {
    text_ += value > 0 ? " +Inf\n" : " -Inf\n";
  } else if (std::isnan(value)) {
    text_ += " NaN\n";
  } else {
    text_ += fmt::format(" {}\n", value);
  }
}

void MetricsText::counter(std::string_view name, std::string_view unit, std::string_view help, double value) {
  family(name, MetricType::kCounter, unit, help);
  sample("_total", value);
}

void MetricsText::gauge(std::string_view name, std::string_view unit, std::string_view help, double value) {
  family(name, MetricType::kGauge, unit, help);
  sample("", value);
}

std::string MetricsText::finish() && {
  if (format_ == MetricsFormat::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

std::string_view content_type(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                               : "text/plain; version=0.0.4; charset=utf-8";
}

}  // namespace peal
