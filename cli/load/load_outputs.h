// SPDX-License-Identifier: BSD-3-Clause
// LoadOutputs: writes the results of a run to files, and the report to stdout. The report goes to stderr if the path of
// one of the files is "-", which means stdout.
#pragma once

#include <cstdio>
#include <string>

#include <cli/load/load_arguments.h>
#include <cli/output_file.h>
#include <load/record/run_record.h>

namespace peal::cli {

class LoadOutputs {
 public:
  // `words` must outlive this object.
  explicit LoadOutputs(const LoadArguments& words) : words_(words) {}
  LoadOutputs(const LoadOutputs&) = delete;
  LoadOutputs& operator=(const LoadOutputs&) = delete;

  // Opens the files of all outputs. Call it before the run. Returns an error if a file cannot be opened, or if more
  // than one of them is stdout.
  CommandTrouble prepare();
  // Writes one line about `interval` to the file of --ndjson. `so_far` is the result of the run up to the end of
  // `interval`.
  void add_interval(const load::Interval& interval, const load::Outcome& so_far);
  // Prints the report and writes the files of --json, --hdr and --openmetrics. Also writes the last interval to the
  // file of --ndjson, because add_interval() is not called for the interval that ends together with the run. Call
  // write() once, after the run. Returns a sentence that names the first output that could not be written, or an empty
  // text. The order of the files is: --ndjson, --json, --hdr, --openmetrics. If one of them cannot be written, the
  // later ones are not written either. Errors of stderr are ignored.
  std::string write(const load::RunRecord& record);
  // True if the run must record a histogram of each interval. --hdr always needs these histograms. --json uses them
  // only if the run has fewer than 600 intervals, because each histogram takes 216 KiB of memory.
  bool wants_interval_histograms(const load::LoadOptions& options) const;
  std::FILE* report_place() const { return stdout_taken_ ? stderr : stdout; }
  // Returns the file of --json. A run with --find-max writes its own report to this file, and does not call write().
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
