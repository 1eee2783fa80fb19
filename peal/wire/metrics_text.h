// SPDX-License-Identifier: BSD-3-Clause
// MetricsText: writes metrics in a text format that Prometheus and similar scrapers read. The format is OpenMetrics 1.0
// or the older Prometheus format 0.0.4, which has no lines for units and no mark at the end.
//
//   MetricsText text(MetricsFormat::kOpenMetrics);
//   text.family("http_requests", MetricType::kCounter, "", "Requests answered.");
//   text.sample("_total", 17, {{"code", "200"}});
//
// Write one family after the other, each with all its samples. Give values in base units: seconds and bytes.
// MetricsText escapes label values and help texts, but does not check names and units. No I/O; one thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace peal {

// The format of the text: OpenMetrics 1.0 or the Prometheus format 0.0.4.
enum class MetricsFormat : uint8_t { kOpenMetrics, kPrometheus };
// The type of a metric family. kInfo is written as a gauge in the Prometheus format, which has no such type.
enum class MetricType : uint8_t { kCounter, kGauge, kHistogram, kSummary, kInfo };

// A label of a sample. The value may have any bytes and is escaped. A byte that is not UTF-8 is written as U+FFFD,
// because a scraper would refuse the whole text for it.
struct MetricLabel {
  std::string_view name;
  std::string_view value;
};

class MetricsText {
 public:
  // Writes `prefix` before the name of each family, and the `common` labels before the other labels of each sample.
  explicit MetricsText(MetricsFormat format, std::string_view prefix = {},
                       std::initializer_list<MetricLabel> common = {});

  // Replaces the prefix for the families that follow.
  void set_prefix(std::string_view prefix) { prefix_ = prefix; }

  // Begins a family of samples and writes its type, its help text and, in OpenMetrics, its unit. If `unit` is not
  // empty, `name` must end with it, as in "request_duration_seconds".
  void family(std::string_view name, MetricType type, std::string_view unit, std::string_view help);

  // Writes one sample of the current family. A value that is no number is written as "NaN", an infinite one as "+Inf"
  // or
  // "-Inf". The suffix after the family's name depends on the type:
  // - "_total" for a counter,
  // - "_info" for an info,
  // - "_bucket", "_sum" and "_count" for a histogram,
  // - "_sum" and "_count" for a summary, and an empty suffix for its quantiles,
  // - an empty suffix for a gauge.
  void sample(std::string_view suffix, double value, std::initializer_list<MetricLabel> labels = {}) {
    sample(suffix, value, std::span(labels.begin(), labels.size()));
  }
  void sample(std::string_view suffix, double value, std::span<const MetricLabel> labels);

  // counter() and gauge() write a family with one sample, which has only the common labels.
  void counter(std::string_view name, std::string_view unit, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view unit, std::string_view help, double value);

  // Writes the end of the text and returns the whole text. The object must not be used afterwards.
  std::string finish() &&;

 private:
  const MetricsFormat format_;
  std::string prefix_;
  std::string common_;  // the common labels as text
  std::string name_;    // the current family with its prefix
  std::string text_;    // everything written so far
};

// Returns the value of the Content-Type field for a text in this format.
std::string_view content_type(MetricsFormat format);

}  // namespace peal
