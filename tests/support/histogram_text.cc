// SPDX-License-Identifier: BSD-3-Clause
// Reads the recorded buckets of the histogram once. If one bucket contains several percentiles of the table, it gets a
// line for each of them.
#include <tests/support/histogram_text.h>

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <peal/base/bad_value.h>

namespace peal {
namespace {

double next_percent(double percent, int ticks_per_half_distance) {
  const double gap = 100.0 - percent;
  const double halvings = std::pow(2, std::log(100 / gap) / std::log(2) + 1);
  return percent + 100.0 / (ticks_per_half_distance * halvings);
}

}  // namespace

std::string percentile_text(const Histogram& histogram, const PercentileTextOptions& options) {
  if (!(options.unit > 0)) throw_bad_value("a unit of {}", options.unit);
  if (options.ticks_per_half_distance <= 0) throw_bad_value("{} ticks", options.ticks_per_half_distance);
  const int digits = histogram.options().significant_digits;
  const auto scaled = [&](auto value) { return static_cast<double>(value) / options.unit; };
  std::string text =
      fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  double percent = 0;
  histogram.for_each_recorded([&](const Histogram::Bucket& bucket) {
    const double value = scaled(bucket.highest);
    const bool last = bucket.count_to_here == histogram.total_count();
    const double reached =
        100.0 * static_cast<double>(bucket.count_to_here) / static_cast<double>(histogram.total_count());
    // Adds a line for each percentile that falls into this bucket. The last bucket reaches 100 %, so all remaining
    // percentiles fall into the last bucket. Only the first of them gets a line here. The line for 100 % is added
    // below.
    for (bool more = true; more && percent < 100 && reached >= percent;) {
      text += fmt::format("{:12.{}f} {:2.12f} {:10} {:14.2f}\n", value, digits, percent / 100, bucket.count_to_here,
                          1 / (1 - percent / 100));
      const double before = std::exchange(percent, next_percent(percent, options.ticks_per_half_distance));
      // Also ends the loop if `percent` has not changed. Close to 100 %, the distance to the next percentile is so
      // small that adding it does not change a double.
      more = !last && percent > before;
    }
    if (last) text += fmt::format("{:12.{}f} {:2.12f} {:10}\n", value, digits, 1.0, bucket.count_to_here);
  });
  text += fmt::format("#[Mean    = {:12.{}f}, StdDeviation   = {:12.{}f}]\n", scaled(histogram.mean()), digits,
                      scaled(histogram.standard_deviation()), digits);
  text += fmt::format("#[Max     = {:12.{}f}, TotalCount     = {:12.{}f}]\n", scaled(histogram.max()), digits,
                      static_cast<double>(histogram.total_count()), digits);
  text += fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n", histogram.bucket_count(),
                      histogram.sub_bucket_count());
  return text;
}

}  // namespace peal
