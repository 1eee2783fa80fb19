// SPDX-License-Identifier: BSD-3-Clause
// Adds up runs that drove one server at one time, from several machines or processes. Lossless: histograms bucket by
// bucket, counts, failures with the first example of each, CPU; the window is the mean of theirs. The result is a
// record like any other, and can be added up again.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include <load/record/run_record.h>

namespace peal::load {

struct NamedRecord {
  std::string name;  // of its file
  RunRecord record;
};

// Windows that coincide for less than this share of the longest make the sum NOISY.
inline constexpr double kLeastOverlap = 0.9;

// At least one. The error is one sentence: why these are not parts of one run. The gates are theirs, each told with its
// file, not judged anew: what one generator did wrong does not vanish in the mean of many.
std::expected<RunRecord, std::string> merge_runs(const std::vector<NamedRecord>& runs);

}  // namespace peal::load
