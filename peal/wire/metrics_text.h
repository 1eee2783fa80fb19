// SPDX-License-Identifier: BSD-3-Clause
// MetricsText: writes metrics as the text that Prometheus and its like read: OpenMetrics 1.0, or the format before it,
// Prometheus 0.0.4, which has no units and no end.
//
//   text.family("http_requests", MetricType::kCounter, "", "Requests answered.");
//   text.sample("_total", 17, {{"code", "200"}});
//
// Families come one after the other, each with all its samples. Base units: seconds and bytes. No I/O.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace peal {

enum class MetricsFormat : uint8_t { kOpenMetrics, kPrometheus };
enum class MetricType : uint8_t { kCounter, kGauge, kHistogram, kSummary, kInfo };

// The value may hold any bytes; what is no UTF-8 stays so.
struct MetricLabel {
  std::string_view name;
  std::string_view value;
};

class MetricsText {
 public:
  // Names begin with `prefix`, samples have `common` labels first.
  explicit MetricsText(MetricsFormat format, std::string_view prefix = {},
                       std::initializer_list<MetricLabel> common = {});

  // Of the families from now on.
  void set_prefix(std::string_view prefix) { prefix_ = prefix; }
  // Begins a family. A unit that is not empty ends the name: "..._seconds".
  void family(std::string_view name, MetricType type, std::string_view unit, std::string_view help);
  // One of the family begun last. The suffix says what it is: "_total" of a counter, "_info", "_bucket", "_sum" and
  // "_count" of a histogram, nothing of a gauge.
  void sample(std::string_view suffix, double value, std::initializer_list<MetricLabel> labels = {});
  // A family of one sample without labels of its own.
  void counter(std::string_view name, std::string_view unit, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view unit, std::string_view help, double value);

  // The whole text; nothing may be added after it.
  std::string finish() &&;

 private:
  const MetricsFormat format_;
  std::string prefix_;
  std::string common_;
  std::string name_;
  std::string text_;
};

// What a response with it says it is (Content-Type).
std::string_view content_type(MetricsFormat format);

}  // namespace peal
