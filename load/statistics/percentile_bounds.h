// SPDX-License-Identifier: BSD-3-Clause
// How well a histogram knows its percentiles. A pure function.
#pragma once

#include <cstdint>
#include <utility>

#include <peal/observe/histogram.h>

namespace peal::load {

// The values between which a percentile lies with 95 % confidence, if the recorded values were independent: order
// statistics (Conover, Practical Nonparametric Statistics, 3.2). The whole range where the samples are too few.
std::pair<int64_t, int64_t> percentile_bounds(const Histogram& times, double percent);

}  // namespace peal::load
