// SPDX-License-Identifier: BSD-3-Clause
// The statistics of `peal load compare`: what two sides' numbers allow one to say. Ratios are looked at as logarithms,
// so that twice and half weigh the same. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <load/statistics/significance.h>
#include <peal/observe/histogram.h>

namespace peal::load {

// The ratio of two sides, b / a, with a 95 % interval and the p of "there is none".
struct Difference {
  double ratio = 1;
  double low = 1;
  double high = 1;
  double p = 1;
};

// Of two series within one run each; successive values of a run resemble each other. Welch's t test on logarithms, each
// series counted as the smaller number of independent values it is worth: n (1 - r) / (1 + r) for lag-1 autocorrelation
// r (Bayley and Hammersley 1946, for AR(1)), r corrected for its bias (Marriott and Pope 1954) and rounded up by half
// its standard error. Nothing with fewer than kFewestSteps positive values on a side.
inline constexpr size_t kFewestSteps = 10;
std::optional<Difference> series_difference(std::span<const double> a, std::span<const double> b);

// Of independent runs: the exact two-sided Wilcoxon-Mann-Whitney test (ties shared), the Hodges-Lehmann ratio and the
// interval that inverts the test (Hollander and Wolfe, Nonparametric Statistical Methods, chapter 4). Nothing with
// fewer than kFewestRuns positive values on a side: these could never reach p <= 0.05.
inline constexpr size_t kFewestRuns = 4;
inline constexpr size_t kMostRuns = 60;
std::optional<Difference> runs_difference(std::span<const double> a, std::span<const double> b);

// The values between which a percentile lies with 95 % confidence, if the recorded values were independent: order
// statistics (Conover, Practical Nonparametric Statistics, 3.2). The whole range where the samples are too few.
std::pair<int64_t, int64_t> percentile_bounds(const Histogram& times, double percent);

}  // namespace peal::load
