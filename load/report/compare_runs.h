// SPDX-License-Identifier: BSD-3-Clause
// Which of two sides is better, with interval and p, or that one cannot tell. A side is one run or several.
//
//   one run each       the series of intervals within them is compared. That tells these two runs apart, and is blind
//   to
//                      how much runs of the same program differ from each other: the text says so.
//   four and more      runs are the unit. Fewer than four on either side can never reach p <= 0.05, and are only shown.
//
// Something is better where the interval leaves out 1 and p <= 0.05 after Holm's adjustment over all that was tested.
// What an open loop's schedule fixes, its rate, is shown and not tested.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <load/record/merge_runs.h>
#include <load/statistics/comparison_stats.h>

namespace peal::load {

enum class Better : uint8_t { kCannotTell, kFirst, kSecond };

struct Comparison {
  struct Row {
    std::string name;
    bool more_is_better = false;
    std::string first;  // their figures, as text
    std::string second;
    std::optional<Difference> difference;  // second / first
    double p_adjusted = 1;
    Better better = Better::kCannotTell;
    std::string remark;  // why it was not tested
  };
  std::string first;  // the sides' names
  std::string second;
  std::vector<Row> rows;
  std::vector<std::string> notes;
  std::string conclusion;
  bool invalid = false;  // a run on either side is INVALID: nothing is concluded
};

// Neither side is empty or has more than kMostRuns. The error is one sentence.
std::expected<Comparison, std::string> compare_runs(const std::vector<NamedRecord>& first,
                                                    const std::vector<NamedRecord>& second);
// Several lines, each ended.
std::string comparison_text(const Comparison& comparison);

}  // namespace peal::load
