// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/metrics.h>

#include <peal/observe/parts/metric_registry.h>

namespace peal {
namespace detail {

constinit thread_local MetricCells metric_cells;

MetricSlot::MetricSlot(MetricForm form, std::string_view name, std::string_view help, MetricLabels labels) {
  const MetricRegistry::Entry entry = MetricRegistry::get().add(form, name, help, std::move(labels));
  family_ = entry.family;
  series_ = entry.series;
  number_ = series_ == nullptr ? MetricRegistry::hidden_slot(form) : series_->slot;
}

MetricSlot::~MetricSlot() { MetricRegistry::get().remove({.family = family_, .series = series_}); }

MetricHistogram::MetricHistogram(MetricForm form, std::string_view name, std::string_view help, MetricLabels labels)
    : slot_(form, name, help, std::move(labels)), layout_(MetricRegistry::get().layout_of(form)) {}

void MetricHistogram::count_first(int64_t value) { MetricRegistry::get().add_value(slot_.number(), value, layout_); }

Histogram MetricHistogram::value() const {
  if (slot_.series() == nullptr) return Histogram(layout_.options());
  return MetricRegistry::get().histogram_of(*slot_.series(), layout_);
}

}  // namespace detail

void Counter::add_first(uint64_t count) { detail::MetricRegistry::get().add_count(slot_.number(), count); }

uint64_t Counter::value() const {
  return slot_.series() == nullptr ? 0 : detail::MetricRegistry::get().count_of(*slot_.series());
}

Gauge::Gauge(std::string_view name, std::string_view help, MetricLabels labels)
    : slot_(detail::MetricForm::kGauge, name, help, std::move(labels)),
      value_(slot_.series() == nullptr ? &detail::MetricRegistry::get().hidden_gauge() : &slot_.series()->gauge) {}

double Gauge::value() const { return slot_.series() == nullptr ? 0 : value_->load(std::memory_order_relaxed); }

MetricReadings read_metrics() { return detail::MetricRegistry::get().read(); }

}  // namespace peal
