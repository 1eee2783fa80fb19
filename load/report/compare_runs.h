// SPDX-License-Identifier: BSD-3-Clause
// Compares two sides. Says which side is better, or that no answer is possible. A side is one run or several runs. The
// rules are those of a duel, which compares two programs in many restarts (load/statistics/ratio_judge.h). Each side is
// divided into the same number of parts, in the order given. Part number i of one side is compared with part number i
// of the other side. Their ratio counts as the ratio of one restart in a duel. Ratios are tested in two cases:
//
//   one run each       The intervals of each run are divided into four parts, which are compared. The result holds
//                      only for these two runs. It cannot show how much runs of the same program differ from each
//                      other; a note says so.
//   four and more      Each side has at least four runs. Whole runs are compared. The number of parts is the number of
//                      runs on the side with fewer runs.
//
// In all other cases nothing is tested. The p values of all tests of a comparison are adjusted together. In an open
// loop, the schedule fixes the rate, so the rate is shown, but not tested.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <load/record/merge_runs.h>
#include <load/statistics/ratio_judge.h>

namespace peal::load {

enum class Better : uint8_t { kCannotTell, kFirst, kSecond };

struct Comparison {
  struct Row {
    std::string name;
    bool more_is_better = false;
    std::string first;  // the figures of the two sides, as text
    std::string second;
    std::optional<RatioEstimate> difference;  // the ratio second / first
    RatioAnswer answer;
    Better better = Better::kCannotTell;
    std::string remark;  // why the figure was not tested
  };
  std::string first;  // names of the sides
  std::string second;
  std::vector<Row> rows;
  std::vector<std::string> notes;
  std::string conclusion;
  bool invalid = false;  // true if a run on either side is INVALID; then nothing is concluded
};

// Compares the runs of two sides, for example of an old and a new version of a server. Asserts that each side has at
// least one run. If the runs cannot be compared, returns a sentence that says why.
std::expected<Comparison, std::string> compare_runs(const std::vector<NamedRecord>& first,
                                                    const std::vector<NamedRecord>& second);
// Returns the comparison as text. The text has several lines, and each line ends with a newline.
std::string comparison_text(const Comparison& comparison);

}  // namespace peal::load
