// SPDX-License-Identifier: BSD-3-Clause
// The judge: decides which verdict about subject / rival the figures allow, and gives the reason if they allow none.
// Duels, `peal load compare` and `peal load judge` use it; the lab uses it through `peal load judge`. Pure functions.
//
// The verdicts about A / B and about B / A mirror each other. For this, every threshold is a factor: x on one side of
// 1, and 1 / x on the other.
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

// A claim about the ratio subject / rival that was made before the measurement. With kAtMost, the claim says that the
// ratio is at most the value `ratio`. With kAtLeast, it says that the ratio is at least this value.
struct Bar {
  enum class Side : uint8_t { kAtMost, kAtLeast };
  Side side = Side::kAtMost;
  double ratio = 1;
};

// A range for the ratio subject / rival that somebody has published: from `least` to `most`. The default range contains
// every ratio.
struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
};

enum class RatioVerdict : uint8_t {
  // kLess is a verdict about a pair of programs, about which the user has claimed nothing. kLess means that the figure
  // of the subject is less than the figure of the rival. The figure may be a cost or a rate, so kLess alone does not
  // say which program is better. The verdict is kLess if all of these conditions hold:
  // - The confidence interval does not contain 1.
  // - The adjusted p-value is at most kPairP.
  // - The ratio is at most 1 / kPairMargin.
  kLess,
  kMore,    // about a pair: the ratio is more than 1; the conditions mirror those of kLess
  kLevel,   // about a pair: neither kLess nor kMore; the whole interval is between 1 / kNarrow and kNarrow
  kMet,     // about a bar: the whole interval is on the claim's side of the bar, and p is at most kBarP
  kNotMet,  // about a bar: the whole interval is on the other side of the bar, and p is at most kBarP
  // kAtTheBar is a verdict about a claim. kAtTheBar means that the ratio is known to be close to the claimed value,
  // which is called the bar. The verdict is kAtTheBar if all of these conditions hold:
  // - The conditions of kMet and of kNotMet do not hold.
  // - The ratio and the bar differ by less than the factor kNarrow.
  // - Each end of the confidence interval differs from the ratio by less than the factor kNarrow.
  kAtTheBar,
  kWithin,      // about a range: the whole interval is in the range
  kOutside,     // about a range: the whole interval is outside of the range
  kAtTheBound,  // about a range: the interval contains an end of the range
  kCannotTell,
};

inline constexpr double kBarP = 0.05;
// The highest p-value at which the two programs of a pair count as different. This limit is stricter than kBarP for two
// reasons: there are many pairs, and nothing was claimed about them before the measurement.
inline constexpr double kPairP = 0.01;
inline constexpr double kPairMargin = 1.01;
inline constexpr double kNarrow = 1.02;

// Each of these functions returns the verdict about one ratio:
// - judge_bar(): for a claim that was made before the measurement. `bar` is the claim.
// - judge_pair(): for a pair of programs about which nothing was claimed.
// - judge_range(): for a published range.
// `adjusted_p` is the p-value after Holm's adjustment. judge_bar() needs the p-value of the hypothesis that the true
// ratio is the claimed value. judge_pair() needs the p-value of the hypothesis that the true ratio is 1. judge_range()
// needs no p-value.
// Some measurements run one program under two names. `twin_differs` is true if the judge has found a difference between
// these two names. In this case the measurement is not trusted, so the verdict is kCannotTell. The verdict is also
// kCannotTell if `ratio` has no confidence interval.
RatioVerdict judge_bar(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs);
RatioVerdict judge_pair(const RatioEstimate& ratio, double adjusted_p, bool twin_differs);
RatioVerdict judge_range(const RatioEstimate& ratio, const Range& range, bool twin_differs);
// Some measurements run one program under two names (an A/A twin). `twin` is the estimated ratio between these two
// names. Returns true if judge_pair() finds a difference between the two names. A measurement with this difference must
// not give any verdicts, because a program cannot differ from itself. Only one hypothesis is tested here, so its
// p-value needs no adjustment by Holm's method.
bool differs_from_itself(const RatioEstimate& twin);

// Returns the verdict in words, for example "not met" or "at the bar".
std::string_view to_string(RatioVerdict verdict);

// The first function explains the verdict of judge_bar(), and the second function explains the verdict of judge_pair().
// Both have the arguments of the function that they explain. If the verdict is kCannotTell, they return the reason,
// such as "too few restarts", "the interval holds 1.05" or "p is 0.08". For every other verdict, including kLevel and
// kAtTheBar, they return an empty text.
std::string why_not_told(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs);
std::string why_not_told(const RatioEstimate& ratio, double adjusted_p, bool twin_differs);

struct RatioQuestion {
  std::string subject;
  std::string rival;
  RatioEstimate estimate;
  // The kind of question:
  // - std::monostate: does the ratio differ from 1?
  // - Bar: is the claim about the ratio met?
  // - Range: is the ratio in the range?
  std::variant<std::monostate, Bar, Range> asked = {};
  // The name of a group of questions. The p-values of all questions with the same name are adjusted together by Holm's
  // method. A question about a range has no p-value, so its name does not matter.
  std::string family = {};
  // The index of another question, which compares one program under two names (an A/A twin). Empty if no question
  // compares two names of one program. This question gets the verdict kCannotTell in these cases:
  // - The other question finds a difference between the two names, so the measurement is not trusted.
  // - The other question has fewer than kFewestRestarts restarts, so a difference between the two names could not be
  //   found.
  std::optional<size_t> twin = {};
  // A reason, set by the caller, why no verdict may be given. If this text is not empty, the verdict is always
  // kCannotTell.
  std::string obstacle = {};
  // True if the load generator limited the measured rate of the subject (or of the rival): the generator's threads were
  // fully busy, and the program was not. In this case, the true rate of the program may be higher than the measured
  // rate. If a higher rate could change the verdict, the verdict is kCannotTell. This rule applies to pairs, claims and
  // ranges.
  bool subject_bounded = false;
  bool rival_bounded = false;
};

struct RatioAnswer {
  double p = 1;  // the p-value of "the ratio is the bar", or of "the ratio is 1"
  double adjusted_p = 1;
  RatioVerdict verdict = RatioVerdict::kCannotTell;
  std::string why;  // why the verdict is kCannotTell; otherwise empty
};

// Returns one answer for each question, in the order of the questions.
std::vector<RatioAnswer> judge_ratios(std::span<const RatioQuestion> questions);

// Returns the ratio and its confidence interval as text, for example "0.984 (0.971 to 1.010)". If there is no
// confidence interval, the text has only the ratio. If there is no ratio, the text is "-".
std::string ratio_text(const RatioEstimate& estimate);
// Returns a question and its answer as text, for example "new / old: 0.984 (0.971 to 0.997) over 16 restarts, p 0.0123:
// met".
std::string sentence_of(const RatioQuestion& question, const RatioAnswer& answer);

}  // namespace peal::load
