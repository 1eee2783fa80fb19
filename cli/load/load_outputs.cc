// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_outputs.h>

#include <utility>

#include <fmt/format.h>

#include <cli/command.h>
#include <load/record/hdr_log.h>
#include <load/report/open_metrics.h>
#include <load/report/report_json.h>
#include <load/report/report_text.h>

namespace peal::cli {
namespace {

// With --json, a run also records a histogram of each interval, so that `peal load merge` can add the histograms up.
// Each histogram takes 216 KiB of memory. If a run has kMostHistograms intervals or more, --json alone therefore
// records no histograms of intervals.
constexpr int64_t kMostHistograms = 600;

}  // namespace

CommandTrouble LoadOutputs::prepare() {
  int on_stdout = 0;
  const std::pair<OutputFile*, const std::string*> files[] = {
      {&json_, &words_.json}, {&lines_, &words_.ndjson}, {&hdr_, &words_.hdr}, {&open_metrics_, &words_.open_metrics}};
  for (const auto& [file, path] : files) {
    if (std::string why = file->open(*path); !why.empty()) return {kFailed, std::move(why)};
    if (file->is_stdout()) ++on_stdout;
  }
  if (on_stdout > 1) {
    return {kCalledWrongly, "only one of --json, --ndjson, --hdr and --openmetrics can go to stdout"};
  }
  stdout_taken_ = on_stdout > 0;
  return {};
}

bool LoadOutputs::wants_interval_histograms(const load::LoadOptions& options) const {
  return hdr_.is_wanted() || (json_.is_wanted() && options.duration / options.interval < kMostHistograms);
}

void LoadOutputs::add_interval(const load::Interval& interval, const load::Outcome& so_far) {
  if (!lines_.is_wanted() || lines_failed_) return;
  lines_failed_ = !lines_.write(load::interval_line(interval, so_far));
}

std::string LoadOutputs::write(const load::RunRecord& record) {
  // Writes the last interval. run_load() calls its OnInterval at the end of each interval except the last one. So
  // add_interval() was not called for the last interval, which is only in the record.
  if (!record.outcome.intervals.empty()) add_interval(record.outcome.intervals.back(), record.outcome);
  const bool said = say(report_place(), load::report_text(record, paint_for(report_place())));
  if (lines_failed_) return fmt::format("the intervals could not be written to {}", words_.ndjson);
  if (json_.is_wanted() && !json_.write(load::report_json(record))) {
    return fmt::format("the report could not be written to {}", words_.json);
  }
  if (hdr_.is_wanted() && !hdr_.write(load::hdr_log(record))) {
    return fmt::format("the histograms could not be written to {}", words_.hdr);
  }
  if (open_metrics_.is_wanted() && !open_metrics_.write(load::open_metrics(record))) {
    return fmt::format("the metrics could not be written to {}", words_.open_metrics);
  }
  if (!said && report_place() == stdout) return "the report could not be written to stdout";
  return {};
}

}  // namespace peal::cli
