// SPDX-License-Identifier: BSD-3-Clause
// Where the figures of a run go: the report on stdout, or on stderr where something else has taken stdout, and files.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>

#include <cli/load/load_arguments.h>
#include <load/record/run_record.h>

namespace peal::cli {

// "-" is stdout. False: it could not be written.
bool write_to(const std::string& path, const std::string& text);
// Why the file cannot be written, as one sentence; empty when it can, or is "" or "-": it is better known before a long
// run than after. Leaves nothing behind.
std::string why_unwritable(const std::string& path);

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

 private:
  const LoadArguments& words_;
  std::ofstream lines_;
  bool stdout_taken_ = false;
  bool lines_failed_ = false;
};

}  // namespace peal::cli
