// SPDX-License-Identifier: BSD-3-Clause
// Which of two sides is better, as a duel's pairs are judged (load/statistics/ratio_judge.h), or that one cannot tell.
// A side is one run or several. Both are cut into as many parts, in the order given, and a part of one against that of
// the other is what a restart is in a duel.
//
//   one run each       four parts of the intervals within them are compared. That tells these two runs apart, and is
//                      blind to how much runs of the same program differ from each other: the text says so.
//   four and more      runs are the unit, as many parts as the side with fewer has runs.
//
// All that is tested is one family. What an open loop's schedule fixes, its rate, is shown and not tested.
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
    std::string first;  // their figures, as text
    std::string second;
    std::optional<RatioEstimate> difference;  // second / first
    RatioAnswer answer;
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

// Neither side is empty. The error is one sentence.
std::expected<Comparison, std::string> compare_runs(const std::vector<NamedRecord>& first,
                                                    const std::vector<NamedRecord>& second);
// Several lines, each ended.
std::string comparison_text(const Comparison& comparison);

}  // namespace peal::load
