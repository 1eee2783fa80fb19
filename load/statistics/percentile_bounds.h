// SPDX-License-Identifier: BSD-3-Clause
// Confidence bounds of a histogram's percentiles. A pure function.
#pragma once

#include <cstdint>
#include <utility>

#include <peal/observe/histogram.h>

namespace peal::load {

// Returns two values between which the true percentile lies with 95 % confidence. The confidence is 95 % only if the
// recorded values are independent, because the two values come from the binomial distribution. They are order
// statistics (Conover, Practical Nonparametric Statistics, 3.2), rounded outwards to the ends of their buckets. If the
// histogram has too few values for one of the two, that one is the smallest or the largest value. If the histogram is
// empty, returns 0 twice.
std::pair<int64_t, int64_t> percentile_bounds(const Histogram& times, double percent);

}  // namespace peal::load
