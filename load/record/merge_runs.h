// SPDX-License-Identifier: BSD-3-Clause
// Adds up runs that put load on the same server at the same time, from several machines or processes. Nothing is lost:
// - Histograms are added bucket by bucket.
// - Counts, failures and CPU times are added.
// - The first example of each kind of failure is kept.
// The length of the measurement is the mean of the lengths of the runs. The sum is a record like any other, and can be
// added up again.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include <load/record/run_record.h>

namespace peal::load {

struct NamedRecord {
  std::string name;  // the name of its file
  RunRecord record;
};

// The least overlap of runs that are added up. The overlap is the time during which all runs were measuring, divided by
// the length of the longest measurement. If the overlap is below this limit, the sum gets the verdict NOISY.
inline constexpr double kLeastOverlap = 0.9;

// Adds up the figures of several runs. Asserts that there is at least one run. If the runs do not belong together,
// returns a sentence that says why. The sum contains the failed checks of all runs, each with the name of the run's
// file. merge_runs() does not repeat the checks with the summed figures, because the other runs could hide the fault of
// one run.
std::expected<RunRecord, std::string> merge_runs(const std::vector<NamedRecord>& runs);

}  // namespace peal::load
