// SPDX-License-Identifier: BSD-3-Clause
#include <cli/load/load_outputs.h>

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include <load/record/hdr_log.h>
#include <load/report/open_metrics.h>
#include <load/report/report_json.h>
#include <load/report/report_text.h>

namespace peal::cli {
namespace {

// 216 KiB each, which a JSON that is to be added up wants but a long run cannot afford.
constexpr int64_t kMostHistograms = 600;

}  // namespace

bool write_to(const std::string& path, const std::string& text) {
  if (path == "-") return say(stdout, text);
  std::ofstream file(path, std::ios::trunc);
  file << text;
  return file.flush().good();
}

std::string why_unwritable(const std::string& path) {
  if (path.empty() || path == "-") return {};
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::app)) return fmt::format("{} cannot be written", path);
  if (!was_there) std::filesystem::remove(path, ignored);
  return {};
}

CommandTrouble LoadOutputs::prepare() {
  int on_stdout = 0;
  for (const std::string* path : {&words_.json, &words_.ndjson, &words_.hdr, &words_.open_metrics}) {
    if (*path == "-") ++on_stdout;
    if (std::string why = why_unwritable(*path); !why.empty()) return {kFailed, std::move(why)};
  }
  if (on_stdout > 1) {
    return {kCalledWrongly, "only one of --json, --ndjson, --hdr and --openmetrics can have stdout"};
  }
  stdout_taken_ = on_stdout > 0;
  if (!words_.ndjson.empty() && words_.ndjson != "-") lines_.open(words_.ndjson, std::ios::trunc);
  return {};
}

bool LoadOutputs::wants_interval_histograms(const load::LoadOptions& options) const {
  return !words_.hdr.empty() || (!words_.json.empty() && options.duration / options.interval < kMostHistograms);
}

void LoadOutputs::add_interval(const load::Interval& interval, const load::Outcome& so_far) {
  if (words_.ndjson.empty()) return;
  const std::string line = load::interval_line(interval, so_far);
  if (words_.ndjson == "-") {
    lines_failed_ = !write_to("-", line) || lines_failed_;
  } else {
    lines_ << line << std::flush;
    lines_failed_ = !lines_.good();
  }
}

std::string LoadOutputs::write(const load::RunRecord& record) {
  // The last interval ends with the run, and nobody was told of it.
  if (!record.outcome.intervals.empty()) add_interval(record.outcome.intervals.back(), record.outcome);
  const bool said = say(report_place(), load::report_text(record));
  if (lines_failed_) return fmt::format("the intervals could not be written to {}", words_.ndjson);
  if (!words_.json.empty() && !write_to(words_.json, load::report_json(record))) {
    return fmt::format("the report could not be written to {}", words_.json);
  }
  if (!words_.hdr.empty() && !write_to(words_.hdr, load::hdr_log(record))) {
    return fmt::format("the histograms could not be written to {}", words_.hdr);
  }
  if (!words_.open_metrics.empty() && !write_to(words_.open_metrics, load::open_metrics(record))) {
    return fmt::format("the metrics could not be written to {}", words_.open_metrics);
  }
  if (!said && report_place() == stdout) return "the report could not be written to stdout";
  return {};
}

}  // namespace peal::cli
