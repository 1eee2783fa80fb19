// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/significance.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace peal::load {
namespace {

// Computes the continued fraction of the incomplete beta function by Lentz's method. The computation needs few steps if
// x is less than (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMostSteps = 10'000;
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-13;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m < kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_two_tails(double t, double freedom) {
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_at(double p, double freedom) {
  double low = 0;
  double high = 1;
  while (student_two_tails(high, freedom) > p && high < 1e12) high *= 2;
  while (high - low > 1e-13 * high) {
    const double middle = (low + high) / 2;
    (student_two_tails(middle, freedom) > p ? low : high) = middle;
  }
  return high;
}

double binomial_at_most(uint64_t k, uint64_t n, double share) {
  return incomplete_beta(static_cast<double>(n - k), static_cast<double>(k) + 1, 1 - share);
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&p](size_t i) { return std::pair(p[i], i); });
  std::vector<double> adjusted(p.size(), 1.0);
  double running = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    running = std::max(running, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    adjusted[order[rank]] = running;
  }
  return adjusted;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t half = values.size() / 2;
  std::ranges::sort(values);
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace peal::load
