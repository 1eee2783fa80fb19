// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/ratio_estimate.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <load/statistics/significance.h>

namespace peal::load {
namespace {

std::vector<double> finite_of(std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  return finite;
}

double average(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Estimates the standard deviation from two or more values. Returns 0 if the result is so small that it is only a
// rounding error.
double deviation(std::span<const double> values) {
  const double mean = average(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double found = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return found < kRounding ? 0 : found;
}

}  // namespace

RatioEstimate::RatioEstimate(std::span<const double> logs) {
  const std::vector<double> all = finite_of(logs);
  restarts_ = all.size();
  known_ = restarts_ >= kFewestRestarts;
  mean_ = all.empty() ? std::numeric_limits<double>::quiet_NaN() : average(all);
  if (!known_) return;
  freedom_ = static_cast<double>(restarts_ - 1);
  error_ = deviation(all) / std::sqrt(static_cast<double>(restarts_));
  half_ = student_at(kAlpha, freedom_) * error_;
}

double RatioEstimate::ratio() const { return std::exp(mean_); }

double RatioEstimate::low() const { return known_ ? std::exp(mean_ - half_) : 0; }

double RatioEstimate::high() const {
  return known_ ? std::exp(mean_ + half_) : std::numeric_limits<double>::infinity();
}

bool RatioEstimate::holds(double bound) const {
  return !known_ || !(bound > 0) || std::abs(mean_ - std::log(bound)) <= half_ + kRounding;
}

double RatioEstimate::p(double bound) const {
  if (!known_ || !(bound > 0) || !std::isfinite(bound)) return 1;
  const double distance = std::abs(mean_ - std::log(bound));
  if (error_ > 0) return student_two_tails(distance / error_, freedom_);
  return distance <= kRounding ? 1 : 0;
}

double RatioEstimate::margin() const { return known_ ? std::expm1(half_) : std::numeric_limits<double>::infinity(); }

size_t restarts_needed(std::span<const double> pilot_logs, double precision) {
  constexpr size_t kUnknown = std::numeric_limits<size_t>::max();
  const std::vector<double> values = finite_of(pilot_logs);
  if (values.size() < kFewestRestarts || !(precision > 0)) return kUnknown;
  const double reach = student_at(kAlpha, static_cast<double>(values.size() - 1)) * deviation(values);
  const double root = reach / std::log1p(precision);
  const double needed = std::ceil(root * root);
  // A billion restarts would take too long, so no caller needs the exact number. A higher number might not even fit
  // into a size_t.
  if (!(needed < 1e9)) return kUnknown;
  // `needed` counts only restarts that give a value. In the pilot, which is the first series of restarts, `lost`
  // restarts gave no value. The result counts all restarts, also those without a value, so `lost` is added.
  const size_t lost = pilot_logs.size() - values.size();
  return std::max(values.size(), static_cast<size_t>(needed)) + lost;
}

double restart_value(double subject, double rival) {
  const double value = subject > 0 && rival > 0 ? std::log(subject / rival) : std::numeric_limits<double>::quiet_NaN();
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace peal::load
