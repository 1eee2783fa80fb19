// SPDX-License-Identifier: BSD-3-Clause
// The words a duel may use of subject / rival, and why it may not. `adjusted_p` is the pair's p (of the bar, or of 1)
// after Holm's adjustment over all that is claimed beside it: one family for a whole page. `twin_differs` says that the
// duel's A/A twin, the same program under another name, was told apart: such a duel claims nothing. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <load/statistics/ratio_estimate.h>

namespace peal::load {

// A claim made beforehand: subject / rival is at most, or at least, `ratio`.
struct Bar {
  enum class Side : uint8_t { kAtMost, kAtLeast };
  Side side = Side::kAtMost;
  double ratio = 1;
};

enum class BarVerdict : uint8_t {
  kMet,       // the interval is wholly on the claim's side, and p <= kBarP
  kNotMet,    // wholly on the other, likewise
  kAtTheBar,  // neither, though the interval is narrower than +-kNarrow, and the bar no farther from the ratio
  kCannotTell,
};

enum class PairVerdict : uint8_t {
  kLess,   // the interval leaves out 1, p <= kPairP, and the ratio is kPairMargin or more from 1
  kMore,   // likewise
  kLevel,  // neither, and the interval is wholly inside +-kNarrow
  kCannotTell,
};

inline constexpr double kBarP = 0.05;
inline constexpr double kPairP = 0.01;  // of many pairs nobody made a claim beforehand
inline constexpr double kPairMargin = 0.01;
inline constexpr double kNarrow = 0.02;

BarVerdict judge_bar(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs);
PairVerdict judge_pair(const RatioEstimate& ratio, double adjusted_p, bool twin_differs);
// Whether a duel whose A/A twin came out as `twin` must claim nothing: by its own p, without adjustment, the same
// program is told apart from itself.
bool differs_from_itself(const RatioEstimate& twin);

// "met", "not met", "at the bar", "less", "more", "level", "cannot tell".
std::string_view to_string(BarVerdict verdict);
std::string_view to_string(PairVerdict verdict);

// Why the same arguments give "cannot tell", in a few words ("the interval holds 1.05", "p is 0.08"); empty where they
// give another verdict.
std::string why_not_told(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs);
std::string why_not_told(const RatioEstimate& ratio, double adjusted_p, bool twin_differs);

}  // namespace peal::load
