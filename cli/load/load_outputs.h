// SPDX-License-Identifier: BSD-3-Clause
// Where the figures of a run go: the report on stdout, or on stderr where something else has taken stdout, and files.
#pragma once

#include <cstdio>
#include <string>

#include <cli/load/load_arguments.h>
#include <cli/output_file.h>
#include <load/record/run_record.h>

namespace peal::cli {

class LoadOutputs {
 public:
  // `words` outlives it.
  explicit LoadOutputs(const LoadArguments& words) : words_(words) {}
  LoadOutputs(const LoadOutputs&) = delete;
  LoadOutputs& operator=(const LoadOutputs&) = delete;

  // Before the run. Why it must not begin, as complain() wants it; kDone: it may.
  CommandTrouble prepare();
  // A line of NDJSON, written at once.
  void add_interval(const load::Interval& interval, const load::Outcome& so_far);
  // All the rest. Which file could not be written, as one sentence; empty: none.
  std::string write(const load::RunRecord& record);
  // Whether the record needs the intervals' histograms.
  bool wants_interval_histograms(const load::LoadOptions& options) const;
  std::FILE* report_place() const { return stdout_taken_ ? stderr : stdout; }
  // For what is written instead of write(): the report of a search.
  OutputFile& json() { return json_; }

 private:
  const LoadArguments& words_;
  OutputFile json_;
  OutputFile lines_;
  OutputFile hdr_;
  OutputFile open_metrics_;
  bool stdout_taken_ = false;
  bool lines_failed_ = false;
};

}  // namespace peal::cli
