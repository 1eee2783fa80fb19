// SPDX-License-Identifier: BSD-3-Clause
// The texts an arrival plan is asked for in:
//
//   constant                                   equal gaps, at --rate
//   poisson                                    independent of each other, at --rate on average
//   ramp:1000/s..20000/s [over 30s]            the rate in a straight line, then the last one for good
//   step:1000/s,2000/s,4000/s every 5s         one rate after the other, the last one for good
//   burst:100 every 50ms                       so many at once, the first at the start
//   file:PATH                                  one arrival a line, in seconds from the start: "0.0025"
//
// Rates and times are written as everywhere (parse_rate, parse_duration); a ramp or a step may have a rate of 0 as
// well. A file ascends, may have empty lines, and '#' begins a comment.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <load/plan/arrival_plan.h>

namespace peal::load {

inline constexpr size_t kMostSteps = 1000;
inline constexpr uint64_t kMostBurst = 10'000'000;
inline constexpr size_t kMostFileArrivals = 10'000'000;

// `rate` is what --rate said, 0 when it said nothing: "constant" and "poisson" need it, the others have their own.
// `run` is how long a ramp lasts that does not say. The error is one sentence. A file is read, on this thread.
std::expected<ArrivalPlan, std::string> parse_arrivals(std::string_view text, double rate, Duration run);

}  // namespace peal::load
