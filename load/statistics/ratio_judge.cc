// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/ratio_judge.h>

#include <cmath>
#include <map>

#include <fmt/format.h>

#include <load/statistics/significance.h>

namespace peal::load {
namespace {

// Returns the reason why no verdict is possible, whatever the ratio is. Returns an empty text if a verdict is possible.
// `twin_differs` is true if the same program was measured under two names and the two measurements differ.
std::string forbidden(const RatioEstimate& ratio, bool twin_differs) {
  if (twin_differs) return "the same program differs from itself";
  if (!ratio.known()) return "too few restarts";
  return {};
}

std::string held_or_likely(const RatioEstimate& ratio, double bound, double adjusted_p) {
  if (ratio.holds(bound)) return fmt::format("the interval holds {:.4g}", bound);
  return fmt::format("p is {:.3g}", adjusted_p);
}

bool is_apart(const RatioEstimate& ratio) {
  return std::abs(std::log(ratio.ratio())) >= std::log(kPairMargin) - kRounding;
}

// The p-value of a question tests the hypothesis that the true ratio is equal to a certain number. Returns this number.
// For a claim (Bar), the number is the claimed ratio. If nothing was claimed, the number is 1. Returns std::nullopt for
// a question about a range, which has no p-value.
std::optional<double> tested_value(const RatioQuestion& question) {
  if (std::holds_alternative<Range>(question.asked)) return std::nullopt;
  const Bar* bar = std::get_if<Bar>(&question.asked);
  return bar != nullptr ? bar->ratio : 1;
}

void adjust(std::span<const RatioQuestion> questions, std::vector<RatioAnswer>& answers) {
  std::map<std::string, std::vector<size_t>> families;
  for (size_t i = 0; i < questions.size(); ++i) {
    const std::optional<double> value = tested_value(questions[i]);
    if (!value) continue;
    answers[i].p = questions[i].estimate.p(*value);
    families[questions[i].family].push_back(i);
  }
  for (const auto& [name, members] : families) {
    std::vector<double> p;
    for (const size_t member : members) p.push_back(answers[member].p);
    const std::vector<double> adjusted = holm(p);
    for (size_t i = 0; i < members.size(); ++i) answers[members[i]].adjusted_p = adjusted[i];
  }
}

// Sets the verdict in `answer`. The verdict follows from the estimate of the ratio. If the verdict is kCannotTell, also
// sets the reason `why`.
void judge_figures(const RatioQuestion& question, bool twin_differs, RatioAnswer& answer) {
  const RatioEstimate& ratio = question.estimate;
  if (const Bar* bar = std::get_if<Bar>(&question.asked)) {
    answer.verdict = judge_bar(ratio, *bar, answer.adjusted_p, twin_differs);
    answer.why = why_not_told(ratio, *bar, answer.adjusted_p, twin_differs);
  } else if (const Range* range = std::get_if<Range>(&question.asked)) {
    answer.verdict = judge_range(ratio, *range, twin_differs);
    answer.why = forbidden(ratio, twin_differs);
  } else {
    answer.verdict = judge_pair(ratio, answer.adjusted_p, twin_differs);
    answer.why = why_not_told(ratio, answer.adjusted_p, twin_differs);
  }
}

// Returns true if `verdict` is also correct for every true ratio on one side of the measured ratio. If `rises` is true,
// these are the ratios above the measured ratio. If `rises` is false, these are the ratios below it. doubt() asks this
// if the load generator limited a measured rate, because the side of the true ratio is known in that case.
bool stands(const RatioQuestion& question, RatioVerdict verdict, bool rises) {
  const Bar* bar = std::get_if<Bar>(&question.asked);
  const Range* range = std::get_if<Range>(&question.asked);
  switch (verdict) {
    case RatioVerdict::kLess: return !rises;
    case RatioVerdict::kMore: return rises;
    case RatioVerdict::kMet: return (bar->side == Bar::Side::kAtLeast) == rises;
    case RatioVerdict::kNotMet: return (bar->side == Bar::Side::kAtMost) == rises;
    case RatioVerdict::kWithin: return rises ? std::isinf(range->most) : range->least <= 0;
    case RatioVerdict::kOutside: return (question.estimate.low() > range->most) == rises;
    case RatioVerdict::kLevel:
    case RatioVerdict::kAtTheBar:
    case RatioVerdict::kAtTheBound:
    case RatioVerdict::kCannotTell: return false;
  }
  return false;
}

std::string doubt(const RatioQuestion& question, RatioVerdict verdict) {
  if (!question.obstacle.empty()) return question.obstacle;
  constexpr std::string_view kFull = "the generator was full before {} was";
  if (question.rival_bounded && !stands(question, verdict, false)) return fmt::format(kFull, question.rival);
  if (question.subject_bounded && !stands(question, verdict, true)) return fmt::format(kFull, question.subject);
  return {};
}

}  // namespace

RatioVerdict judge_bar(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs) {
  if (twin_differs || !ratio.known()) return RatioVerdict::kCannotTell;
  if (ratio.holds(bar.ratio) || !(adjusted_p <= kBarP)) {
    const bool is_near = std::abs(std::log(ratio.ratio() / bar.ratio)) < std::log(kNarrow);
    return is_near && 1 + ratio.margin() < kNarrow ? RatioVerdict::kAtTheBar : RatioVerdict::kCannotTell;
  }
  return (ratio.ratio() < bar.ratio) == (bar.side == Bar::Side::kAtMost) ? RatioVerdict::kMet : RatioVerdict::kNotMet;
}

RatioVerdict judge_pair(const RatioEstimate& ratio, double adjusted_p, bool twin_differs) {
  if (twin_differs || !ratio.known()) return RatioVerdict::kCannotTell;
  if (!ratio.holds(1) && is_apart(ratio) && adjusted_p <= kPairP) {
    return ratio.ratio() < 1 ? RatioVerdict::kLess : RatioVerdict::kMore;
  }
  return ratio.low() > 1 / kNarrow && ratio.high() < kNarrow ? RatioVerdict::kLevel : RatioVerdict::kCannotTell;
}

RatioVerdict judge_range(const RatioEstimate& ratio, const Range& range, bool twin_differs) {
  if (twin_differs || !ratio.known()) return RatioVerdict::kCannotTell;
  if (ratio.low() >= range.least && ratio.high() <= range.most) return RatioVerdict::kWithin;
  const bool is_outside = ratio.high() < range.least || ratio.low() > range.most;
  return is_outside ? RatioVerdict::kOutside : RatioVerdict::kAtTheBound;
}

bool differs_from_itself(const RatioEstimate& twin) {
  const RatioVerdict verdict = judge_pair(twin, twin.p(1), false);
  return verdict == RatioVerdict::kLess || verdict == RatioVerdict::kMore;
}

std::string_view to_string(RatioVerdict verdict) {
  switch (verdict) {
    case RatioVerdict::kLess: return "less";
    case RatioVerdict::kMore: return "more";
    case RatioVerdict::kLevel: return "level";
    case RatioVerdict::kMet: return "met";
    case RatioVerdict::kNotMet: return "not met";
    case RatioVerdict::kAtTheBar: return "at the bar";
    case RatioVerdict::kWithin: return "within";
    case RatioVerdict::kOutside: return "outside";
    case RatioVerdict::kAtTheBound: return "at the bound";
    case RatioVerdict::kCannotTell: return "cannot tell";
  }
  return "?";
}

std::string why_not_told(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs) {
  if (judge_bar(ratio, bar, adjusted_p, twin_differs) != RatioVerdict::kCannotTell) return {};
  std::string reason = forbidden(ratio, twin_differs);
  return reason.empty() ? held_or_likely(ratio, bar.ratio, adjusted_p) : reason;
}

std::string why_not_told(const RatioEstimate& ratio, double adjusted_p, bool twin_differs) {
  if (judge_pair(ratio, adjusted_p, twin_differs) != RatioVerdict::kCannotTell) return {};
  std::string reason = forbidden(ratio, twin_differs);
  if (!reason.empty()) return reason;
  if (!ratio.holds(1) && !is_apart(ratio)) return fmt::format("less than {:g} % from 1", 100 * (kPairMargin - 1));
  return held_or_likely(ratio, 1, adjusted_p);
}

std::vector<RatioAnswer> judge_ratios(std::span<const RatioQuestion> questions) {
  std::vector<RatioAnswer> answers(questions.size());
  adjust(questions, answers);
  const auto is_told_apart = [&](size_t i) {
    const RatioVerdict verdict = judge_pair(questions[i].estimate, answers[i].adjusted_p, false);
    return verdict == RatioVerdict::kLess || verdict == RatioVerdict::kMore;
  };
  for (size_t i = 0; i < questions.size(); ++i) {
    RatioAnswer& answer = answers[i];
    const std::optional<size_t> twin = questions[i].twin;
    judge_figures(questions[i], twin && is_told_apart(*twin), answer);
    if (answer.verdict == RatioVerdict::kCannotTell) continue;
    answer.why = twin && !questions[*twin].estimate.known() ? "too few restarts of the same program against itself"
                                                            : doubt(questions[i], answer.verdict);
    if (!answer.why.empty()) answer.verdict = RatioVerdict::kCannotTell;
  }
  return answers;
}

std::string ratio_text(const RatioEstimate& estimate) {
  if (estimate.restarts() == 0) return "-";
  if (!estimate.known()) return fmt::format("{:.3f}", estimate.ratio());
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", estimate.ratio(), estimate.low(), estimate.high());
}

std::string sentence_of(const RatioQuestion& question, const RatioAnswer& answer) {
  const size_t restarts = question.estimate.restarts();
  std::string text = fmt::format("{} / {}: {} over {} restart{}", question.subject, question.rival,
                                 ratio_text(question.estimate), restarts, restarts == 1 ? "" : "s");
  if (tested_value(question)) text += fmt::format(", p {:.3g}", answer.adjusted_p);
  text += fmt::format(": {}", to_string(answer.verdict));
  return answer.why.empty() ? text : text + ": " + answer.why;
}

}  // namespace peal::load
