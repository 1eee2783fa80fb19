// SPDX-License-Identifier: BSD-3-Clause
// RunRecord: a run as reports tell it: what was asked, what was measured, and how that was judged. A plain value. It is
// written to JSON and read from it again (report_json.h, record_reader.h), and several add up to one (merge_runs.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <load/plan/load_options.h>
#include <load/record/gates.h>
#include <load/record/outcome.h>

namespace peal::load {

struct RunRecord {
  std::string experiment;  // the protocol's name
  std::string request;     // what a message was, in a few words: "64 bytes", "GET"
  std::string schedule;    // the arrivals as they were asked for; empty: closed loop
  LoadOptions options;     // a record that was read has no more than reports show of them
  Outcome outcome;
  std::vector<Gate> gates;
  std::vector<SkippedGate> skipped;
  std::vector<std::string> merged;  // the files it was added up from; none: it is one run

  // The mean while it was measured; 0: closed loop.
  double offered_rate() const { return outcome.seconds() > 0 ? outcome.offered / outcome.seconds() : 0; }
};

// Judges the outcome.
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

// What the two were asked for that is not the same, as "sizes 64 and 128"; how many connections and threads does not
// matter.
std::vector<std::string> differences(const RunRecord& a, const RunRecord& b);

}  // namespace peal::load
