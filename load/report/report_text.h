// SPDX-License-Identifier: BSD-3-Clause
// What a person reads after a run. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <load/record/run_record.h>
#include <peal/base/clock.h>

namespace peal::load {

// A percentile is known where so many samples lie above it; one that is not stands in parentheses.
inline constexpr uint64_t kSamplesAbove = 10;
bool is_known(const Histogram& times, double percent);

// Several lines, each ended. `latency` counts from when a message was due, `service` from when it was sent; a closed
// loop sends when it is due, and has one of them.
std::string report_text(const RunRecord& record);

// "850 ns", "12.3 us", "4.56 ms", "1.2 s": three significant digits.
std::string human_time(double ns);
inline std::string human_time(Duration time) { return human_time(static_cast<double>(time.count())); }
// "1234567" as "1,234,567".
std::string human_count(uint64_t count);
// The same of a rate, rounded; at least 0.
std::string human_rate(double rate);
// "1 thread", "2 threads".
std::string counted(uint64_t count, std::string_view noun);
// As a time; in parentheses where it is not known.
std::string shown_percentile(const Histogram& times, double percent);
// Goes on behind other words, ", 4 in flight a connection, 10 requests a connection"; without what is usual.
std::string use_of_connections(const LoadOptions& options);

}  // namespace peal::load
