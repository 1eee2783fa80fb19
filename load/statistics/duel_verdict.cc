// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/duel_verdict.h>

#include <cmath>

#include <fmt/format.h>

namespace peal::load {
namespace {

// What forbids every verdict, in words; empty where nothing does.
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
  return ratio.ratio() <= 1 - kPairMargin || ratio.ratio() >= 1 + kPairMargin;
}

}  // namespace

BarVerdict judge_bar(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs) {
  if (twin_differs || !ratio.known()) return BarVerdict::kCannotTell;
  if (ratio.holds(bar.ratio) || !(adjusted_p <= kBarP)) {
    const bool is_near = std::abs(std::log(ratio.ratio() / bar.ratio)) < std::log1p(kNarrow);
    return is_near && ratio.margin() < kNarrow ? BarVerdict::kAtTheBar : BarVerdict::kCannotTell;
  }
  return (ratio.ratio() < bar.ratio) == (bar.side == Bar::Side::kAtMost) ? BarVerdict::kMet : BarVerdict::kNotMet;
}

PairVerdict judge_pair(const RatioEstimate& ratio, double adjusted_p, bool twin_differs) {
  if (twin_differs || !ratio.known()) return PairVerdict::kCannotTell;
  if (!ratio.holds(1) && is_apart(ratio) && adjusted_p <= kPairP) {
    return ratio.ratio() < 1 ? PairVerdict::kLess : PairVerdict::kMore;
  }
  return ratio.low() > 1 - kNarrow && ratio.high() < 1 + kNarrow ? PairVerdict::kLevel : PairVerdict::kCannotTell;
}

bool differs_from_itself(const RatioEstimate& twin) {
  const PairVerdict verdict = judge_pair(twin, twin.p(1), false);
  return verdict == PairVerdict::kLess || verdict == PairVerdict::kMore;
}

std::string_view to_string(BarVerdict verdict) {
  switch (verdict) {
    case BarVerdict::kMet: return "met";
    case BarVerdict::kNotMet: return "not met";
    case BarVerdict::kAtTheBar: return "at the bar";
    case BarVerdict::kCannotTell: return "cannot tell";
  }
  return "?";
}

std::string_view to_string(PairVerdict verdict) {
  switch (verdict) {
    case PairVerdict::kLess: return "less";
    case PairVerdict::kMore: return "more";
    case PairVerdict::kLevel: return "level";
    case PairVerdict::kCannotTell: return "cannot tell";
  }
  return "?";
}

std::string why_not_told(const RatioEstimate& ratio, const Bar& bar, double adjusted_p, bool twin_differs) {
  if (judge_bar(ratio, bar, adjusted_p, twin_differs) != BarVerdict::kCannotTell) return {};
  std::string reason = forbidden(ratio, twin_differs);
  return reason.empty() ? held_or_likely(ratio, bar.ratio, adjusted_p) : reason;
}

std::string why_not_told(const RatioEstimate& ratio, double adjusted_p, bool twin_differs) {
  if (judge_pair(ratio, adjusted_p, twin_differs) != PairVerdict::kCannotTell) return {};
  std::string reason = forbidden(ratio, twin_differs);
  if (!reason.empty()) return reason;
  if (!ratio.holds(1) && !is_apart(ratio)) return fmt::format("less than {:g} % from 1", 100 * kPairMargin);
  return held_or_likely(ratio, 1, adjusted_p);
}

}  // namespace peal::load
