// SPDX-License-Identifier: BSD-3-Clause
#include <load/plan/rate_search.h>

#include <algorithm>
#include <cmath>

#include <peal/base/assert.h>

namespace peal::load {

RateSearch::RateSearch(const RateSearchOptions& options)
    : options_(options), next_(std::clamp(options.start, options.lowest, options.highest)) {
  PEAL_ASSERT(options.lowest > 0 && options.lowest <= options.highest && options.step > 0 && options.most_trials > 0,
              "a search from {} to {} has bad options", options.lowest, options.highest);
}

void RateSearch::tell(bool held) {
  PEAL_ASSERT(next_.has_value(), "tell() is called, but the search ended after {} trials", trials_);
  ++trials_;
  if (confirming_) {
    confirm(held);
  } else if (!held && !doubted_ && (held_.empty() || !failed_)) {
    doubted_ = true;
  } else {
    doubted_ = false;
    bracket(held);
  }
  if (trials_ == options_.most_trials) next_.reset();
}

void RateSearch::bracket(bool held) {
  const double rate = *next_;
  if (held) {
    held_.insert(std::ranges::upper_bound(held_, rate), rate);
  } else {
    failed_ = rate;
  }
  if (!held_.empty() && failed_) return narrow();
  if (held && rate < options_.highest) {
    next_ = std::min(rate * 2, options_.highest);
  } else if (!held && rate > options_.lowest) {
    next_ = std::max(rate / 2, options_.lowest);
  } else if (held) {
    confirming_ = true;  // the options allow no higher rate
  } else {
    next_.reset();  // not even the lowest allowed rate holds
  }
}

void RateSearch::narrow() {
  const double best = held_.back();
  confirming_ = !failed_ || *failed_ <= best * (1 + options_.step);
  if (!confirming_) {
    next_ = std::sqrt(*failed_ * best);
  } else if (confirmed_ != best) {
    next_ = best;
  } else {
    next_.reset();
  }
}

void RateSearch::confirm(bool held) {
  if (held) {
    confirmed_ = next_;
    return narrow();
  }
  // The server has kept up with this rate in an earlier trial, but not in the trial that should confirm the rate. One
  // success can be chance, so the search from now on treats this rate as too high.
  failed_ = held_.back();
  held_.pop_back();
  if (!held_.empty()) return narrow();
  confirming_ = false;
  const double lower = *failed_ / (1 + options_.step);
  if (lower >= options_.lowest) {
    next_ = lower;
  } else {
    next_.reset();
  }
}

std::optional<double> RateSearch::answer() const {
  if (confirmed_ || held_.empty()) return confirmed_;
  return held_.back();
}

}  // namespace peal::load
