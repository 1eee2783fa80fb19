// SPDX-License-Identifier: BSD-3-Clause
// The forms of the option --arrivals, which sets the send schedule of an open loop. parse_arrivals() makes an
// ArrivalPlan from them:
//
//   constant                                   equal gaps, at --rate
//   poisson                                    each arrival independent of the others, at --rate on average
//   ramp:1000/s..20000/s [over 30s]            the rate changes in a straight line, then stays at the second rate
//   step:1000/s,2000/s,4000/s every 5s         each rate for 5 s, but the last one without end
//   burst:100 every 50ms                       100 at the same moment: at the start, then every 50 ms
//   file:PATH                                  one arrival in each line, in seconds after the start: "0.0025"
//
// Rates and durations have the forms that parse_rate() and parse_duration() accept. In a ramp or step, a rate may also
// be 0. The times in a file must be in ascending order. A file may have empty lines, and comments that begin with '#'.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <load/plan/arrival_plan.h>

namespace peal::load {

inline constexpr size_t kMostSteps = 1000;
inline constexpr uint64_t kMostBurst = 10'000'000;
inline constexpr size_t kMostFileArrivals = 10'000'000;

// Makes a plan from `text`, the value of the option --arrivals. If `text` is not valid, returns a sentence that says
// why. If `text` names a file, the calling thread reads the file.
// - `rate` is the value of the option --rate. It is 0 if that option was not given. The forms "constant" and "poisson"
//   need a rate. With any other form, a rate is an error.
// - `run` is the length of the run. A ramp takes this long if its text does not set another time, for example "over
//   30s".
std::expected<ArrivalPlan, std::string> parse_arrivals(std::string_view text, double rate, Duration run);

}  // namespace peal::load
