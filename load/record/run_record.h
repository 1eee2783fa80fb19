// SPDX-License-Identifier: BSD-3-Clause
// RunRecord: what the reports show about a run: its options, its Outcome and the results of the checks (gates). It is a
// plain value. report_json.h writes it as JSON, and record_reader.h reads it again. merge_runs.h adds up several
// records.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <load/plan/load_options.h>
#include <load/record/gates.h>
#include <load/record/outcome.h>

namespace peal::load {

struct RunRecord {
  std::string experiment;  // name of the protocol
  std::string request;     // the message in a few words: "64 bytes", "GET"
  std::string schedule;    // text of the send schedule; empty in a closed loop
  LoadOptions options;     // a record that was read from JSON has only those options that reports show
  Outcome outcome;
  std::vector<Gate> gates;
  std::vector<SkippedGate> skipped;
  std::vector<std::string> merged;  // the files that were added up; empty for a single run

  // Returns the mean rate of the send schedule during the measurement, in messages per second. Returns 0 in a closed
  // loop, which has no schedule.
  double offered_rate() const { return outcome.seconds() > 0 ? outcome.offered / outcome.seconds() : 0; }
};

// Makes the record of a run. Also checks whether the figures in `outcome` can be trusted, and stores the results of the
// checks in the record.
inline RunRecord make_record(std::string experiment, std::string request, std::string schedule,
                             const LoadOptions& options, Outcome outcome) {
  std::vector<Gate> gates = judge(options, outcome);
  std::vector<SkippedGate> skipped = skipped_gates(options, outcome);
  return {.experiment = std::move(experiment),
          .request = std::move(request),
          .schedule = std::move(schedule),
          .options = options,
          .outcome = std::move(outcome),
          .gates = std::move(gates),
          .skipped = std::move(skipped),
          .merged = {}};
}

// Compares two runs by the options that decide what is measured, such as the target and the message size. Returns a
// text for each of these options that differs, such as "sizes 64 and 128". Does not compare the numbers of connections,
// the numbers of threads and the rates of the send schedules. These may differ, because several load generators may
// share the load of one run unequally.
std::vector<std::string> differences(const RunRecord& a, const RunRecord& b);

}  // namespace peal::load
