// SPDX-License-Identifier: BSD-3-Clause
// Writes the report of a run as text. All functions here are pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <load/record/run_record.h>
#include <load/report/paint.h>
#include <peal/base/clock.h>

namespace peal::load {

// At least this many samples must lie above a percentile. Otherwise the percentile is not "known", because it depends
// too much on chance. Reports show a percentile in parentheses if it is not known.
inline constexpr uint64_t kSamplesAbove = 10;
bool is_known(const Histogram& times, double percent);

// Returns the report of a run as text. The text has several lines, and each line ends with a newline. `paint` adds
// colours for a terminal.
std::string report_text(const RunRecord& record, Paint paint = Paint());

// Returns a time with its unit, such as "850 ns", "12.3 us", "4.56 ms" or "1.20 s". The argument is in nanoseconds. The
// number has three significant digits, with two exceptions. Nanoseconds are shown as a whole number. Times of 1000 s or
// more are shown in whole seconds, because there is no larger unit.
std::string human_time(double ns);
inline std::string human_time(Duration time) { return human_time(static_cast<double>(time.count())); }
// Returns the number with commas, such as "1,234,567".
std::string human_count(uint64_t count);
// Rounds the rate to a whole number, and returns it with commas, such as "1,234,567". The rate must not be negative.
std::string human_rate(double rate);
// Returns the number with commas, and the noun, such as "1 thread" or "2,000 threads". Adds an "s" to the noun unless
// the number is 1, so the plural of the noun must end in "s".
std::string counted(uint64_t count, std::string_view noun);
// Returns the percentile of a histogram as text, such as "4.56 ms". If fewer than 10 samples (kSamplesAbove) lie above
// the percentile, the text is in parentheses.
std::string shown_percentile(const Histogram& times, double percent);
// Returns how the connections are used, as text such as ", 4 in flight a connection, 10 requests a connection". The
// text begins with a comma, because it is appended to a line. Options with their default values are left out, so the
// text may be empty.
std::string use_of_connections(const LoadOptions& options);

}  // namespace peal::load
