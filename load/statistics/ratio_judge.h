// SPDX-License-Identifier: BSD-3-Clause
// The judge: which word may be said of subject / rival, and why none may. The duel, `peal load compare`, `peal load
// judge` and through it the lab ask it. A and B against each other give mirrored verdicts: every threshold is a factor,
// x and 1 / x. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <load/statistics/ratio_estimate.h>

namespace peal::load {

// A claim made beforehand: subject / rival is at most, or at least, `ratio`.
struct Bar {
  enum class Side : uint8_t { kAtMost, kAtLeast };
  Side side = Side::kAtMost;
  double ratio = 1;
};

// A ratio that somebody published: subject / rival lies in it.
struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
};

enum class RatioVerdict : uint8_t {
  kLess,      // of a pair: the interval leaves out 1, p <= kPairP, and the ratio is a factor kPairMargin or more from 1
  kMore,      // likewise
  kLevel,     // neither, and the interval is wholly within a factor kNarrow of 1
  kMet,       // of a bar: the interval is wholly on the claim's side, and p <= kBarP
  kNotMet,    // wholly on the other, likewise
  kAtTheBar,  // neither, though the interval is within a factor kNarrow of the ratio, and the bar no farther from it
  kWithin,    // of a range: the interval is wholly in it
  kOutside,   // wholly out of it
  kAtTheBound,  // across its end
  kCannotTell,
};

inline constexpr double kBarP = 0.05;
inline constexpr double kPairP = 0.01;  // of many pairs nobody made a claim beforehand
inline constexpr double kPairMargin = 1.01;
inline constexpr double kNarrow = 1.02;

// `adjusted_p` is the ratio's p (of the bar, or of 1) after Holm's adjustment over its family. `twin_differs` says that
// the A/A twin, the same program under another name, was told apart: then nothing is claimed.
RatioVerdict judge_bar(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs);
RatioVerdict judge_pair(const RatioEstimate& ratio, double adjusted_p, bool twin_differs);
RatioVerdict judge_range(const RatioEstimate& ratio, const Range& range, bool twin_differs);
// Whether a duel whose A/A twin came out as `twin` must claim nothing: by its own p, without adjustment, the same
// program is told apart from itself.
bool differs_from_itself(const RatioEstimate& twin);

// "met", "not met", "at the bar", "less", "more", "level", "within", "outside", "at the bound", "cannot tell".
std::string_view to_string(RatioVerdict verdict);

// Why the same arguments give "cannot tell", in a few words ("the interval holds 1.05", "p is 0.08"); empty where they
// give another verdict.
std::string why_not_told(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs);
std::string why_not_told(const RatioEstimate& ratio, double adjusted_p, bool twin_differs);

struct RatioQuestion {
  std::string subject;
  std::string rival;
  RatioEstimate estimate;
  // What is asked: does it differ from 1, is the claim met, does it lie in the range.
  std::variant<std::monostate, Bar, Range> asked = {};
  // Those of one name are adjusted together. A range has no p, and counts in no family.
  std::string family = {};
  // Which of the questions is about the same program under two names. It has no twin itself. Where it is told apart, or
  // has too few restarts to be, nothing may be said.
  std::optional<size_t> twin = {};
  // Why nothing may be said whatever the ratio is; empty: nothing speaks against it.
  std::string obstacle = {};
  // The generator was full before this server was: its rate is higher than it seems. Nothing is said that this could
  // turn over.
  bool subject_bounded = false;
  bool rival_bounded = false;
};

struct RatioAnswer {
  double p = 1;  // of "the ratio is the bar", or 1
  double adjusted_p = 1;
  RatioVerdict verdict = RatioVerdict::kCannotTell;
  std::string why;  // it cannot be told
};

// An answer for each question, in order.
std::vector<RatioAnswer> judge_ratios(std::span<const RatioQuestion> questions);

// "0.984 (0.971 to 1.010)"; without an interval the ratio alone, "-" of none.
std::string ratio_text(const RatioEstimate& estimate);
// "new / old: 0.984 (0.971 to 0.997) over 16 restarts, p 0.0123: met".
std::string sentence_of(const RatioQuestion& question, const RatioAnswer& answer);

}  // namespace peal::load
