// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/hdr_log.h>

#include <array>
#include <ctime>

#include <fmt/format.h>

#include <load/record/histogram_codec.h>

namespace peal::load {
namespace {

// Returns the time as a date in UTC, such as "Mon Nov 14 12:59:18 UTC 2016".
std::string date_of(std::chrono::system_clock::time_point time) {
  const std::time_t whole = std::chrono::system_clock::to_time_t(time);
  std::tm fields{};
  ::gmtime_r(&whole, &fields);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%a %b %d %H:%M:%S UTC %Y", &fields)};
}

}  // namespace

std::string hdr_log(const RunRecord& record) {
  const Outcome& outcome = record.outcome;
  std::string text = fmt::format(
      "#[peal load {} {}, latency in ns]\n#[Histogram log format version 1.2]\n"
      "#[StartTime: {:.3f} (seconds since epoch), {}]\n"
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
      record.experiment, record.options.target_text,
      std::chrono::duration<double>(outcome.began.time_since_epoch()).count(), date_of(outcome.began));
  for (const Interval& interval : outcome.intervals) {
    if (!interval.latency) continue;
    text += fmt::format("{:.3f},{:.3f},{:.3f},{}\n", in_seconds(interval.from), in_seconds(interval.to - interval.from),
                        static_cast<double>(interval.latency->max()) / 1e6, encode_histogram(*interval.latency));
  }
  return text;
}

}  // namespace peal::load
