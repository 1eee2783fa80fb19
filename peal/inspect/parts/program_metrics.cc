// SPDX-License-Identifier: BSD-3-Clause
#include <peal/inspect/parts/program_metrics.h>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <peal/inspect/parts/snapshot.h>

namespace peal::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<int64_t, 13> kByteLimits = {1 << 6,  1 << 8,  1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18,
                                                 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30};
constexpr std::array<int64_t, 13> kPlainLimits = {1,     3,      10,     30,      100,     300,      1'000,
                                                  3'000, 10'000, 30'000, 100'000, 300'000, 1'000'000};

std::span<const int64_t> limits_of(const MetricReading& reading) {
  if (reading.unit == "seconds") return kTimeLimitsNs;
  return reading.unit == "bytes" ? std::span<const int64_t>(kByteLimits) : kPlainLimits;
}

// Returns a recorded value in the unit of the metric. Times are recorded in ns.
double in_unit(const MetricReading& reading, int64_t value) {
  return reading.unit == "seconds" ? static_cast<double>(value) / 1e9 : static_cast<double>(value);
}

MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return MetricType::kCounter;
    case MetricKind::kGauge: return MetricType::kGauge;
    case MetricKind::kHistogram: return MetricType::kHistogram;
  }
  return MetricType::kGauge;
}

std::string_view family_name(const MetricReading& reading) {
  std::string_view name = reading.name;
  if (reading.kind == MetricKind::kCounter) name.remove_suffix(std::string_view("_total").size());
  return name;
}

void add_histogram(MetricsText& out, const MetricReading& reading, std::vector<MetricLabel> labels) {
  const Histogram& recorded = *reading.histogram;
  const auto total = static_cast<double>(recorded.total_count());
  labels.push_back({.name = "le", .value = {}});
  for (const int64_t limit : limits_of(reading)) {
    const std::string text = fmt::to_string(in_unit(reading, limit));
    labels.back().value = text;
    out.sample("_bucket", static_cast<double>(recorded.count_at_or_below(limit)), std::span(std::as_const(labels)));
  }
  labels.back().value = "+Inf";
  out.sample("_bucket", total, std::span(std::as_const(labels)));
  labels.pop_back();
  out.sample("_sum", reading.sum, std::span(std::as_const(labels)));
  out.sample("_count", total, std::span(std::as_const(labels)));
}

// Returns a number that JSON can have: null for "not a number" and infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json histogram_json(const MetricReading& reading) {
  Json pairs = Json::array();
  uint64_t below = 0;
  for (const int64_t limit : limits_of(reading)) {
    const uint64_t up_to = reading.histogram->count_at_or_below(limit);
    pairs.push_back({in_unit(reading, limit), up_to - below});
    below = up_to;
  }
  return pairs;
}

}  // namespace

std::string_view to_string(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter: return "counter";
    case MetricKind::kGauge: return "gauge";
    case MetricKind::kHistogram: return "histogram";
  }
  return "gauge";
}

double metric_at(const MetricReading& reading, const Histogram& recorded, double percent) {
  return in_unit(reading, recorded.value_at_percentile(percent));
}

void add_program_metrics(MetricsText& out, const MetricReadings& readings) {
  std::string_view last;
  for (const MetricReading& reading : readings.metrics) {
    const std::string_view name = family_name(reading);
    if (name != last) out.family(name, type_of(reading.kind), reading.unit, reading.help);
    last = name;
    std::vector<MetricLabel> labels;
    for (const auto& [label, value] : reading.labels) labels.push_back({.name = label, .value = value});
    if (reading.kind == MetricKind::kHistogram) {
      add_histogram(out, reading, std::move(labels));
    } else if (reading.kind == MetricKind::kCounter) {
      out.sample("_total", static_cast<double>(reading.count), std::span(std::as_const(labels)));
    } else {
      out.sample("", reading.value, std::span(std::as_const(labels)));
    }
  }
}

nlohmann::ordered_json program_metrics_json(const MetricReadings& readings) {
  Json metrics = Json::array();
  for (const MetricReading& reading : readings.metrics) {
    Json labels = Json::object();
    for (const auto& [name, value] : reading.labels) labels[name] = value;
    Json metric{{"name", reading.name}, {"labels", std::move(labels)}, {"kind", to_string(reading.kind)}};
    if (reading.histogram) {
      const Histogram& recorded = *reading.histogram;
      metric["count"] = recorded.total_count();
      metric["sum"] = reading.sum;
      metric["p50"] = metric_at(reading, recorded, 50);
      metric["p99"] = metric_at(reading, recorded, 99);
      metric["max"] = metric_at(reading, recorded, 100);
      metric["histogram"] = histogram_json(reading);
    } else if (reading.kind == MetricKind::kCounter) {
      metric["value"] = reading.count;
    } else {
      metric["value"] = finite(reading.value);
    }
    metric["unit"] = reading.unit;
    metric["help"] = reading.help;
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace peal::detail
