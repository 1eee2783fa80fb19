// SPDX-License-Identifier: BSD-3-Clause
// RateSearch: finds the highest rate that a server can keep up with. It says which rate to try next. The caller tries
// this rate and reports whether it "holds", which means that the server kept up. A RateSearch is a plain value.
//
// The search has three phases:
// - Bracketing: doubles the rate while it holds, or halves it while it does not, until one rate has held and another
//   has not. A rate that does not hold is tried a second time, because that may have been chance.
// - Bisecting: tries the geometric mean of the highest rate that held and the lowest that did not, until they are at
//   most 5 % apart.
// - Confirming: the highest rate that held must hold once more. Otherwise it counts as a rate that does not hold, and
//   the search continues below it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace peal::load {

struct RateSearchOptions {
  double start = 1000;
  double lowest = 1;
  double highest = 1e9;
  // A rate succeeds if the server can keep up with it. Otherwise, the rate fails. `step` says how exact the result must
  // be: the lowest rate that failed may be at most (1 + `step`) times the highest rate that succeeded. With 0.05, for
  // example, the two rates differ by at most 5 %.
  double step = 0.05;
  size_t most_trials = 40;  // limit for the whole search; doubling the rate from 1 to 1e9 alone takes 30 trials
};

class RateSearch {
 public:
  explicit RateSearch(const RateSearchOptions& options);

  // Returns the rate to try next. Returns std::nullopt if the search has ended.
  std::optional<double> next() const { return next_; }
  // Reports the result of a trial with the rate from next(). `held` is true if the server could keep up with this rate.
  void tell(bool held);

  // Returns the result of the search: the highest rate that succeeded in two trials. A rate succeeds if the server can
  // keep up with it. The number of trials is limited. If the limit was reached before any rate succeeded twice, returns
  // the highest rate that succeeded once. Returns std::nullopt if no rate succeeded.
  std::optional<double> answer() const;
  // Returns true if the rate that answer() returns has succeeded in two trials.
  bool confirmed() const { return confirmed_.has_value(); }
  // Returns true if two conditions hold: the rate that answer() returns has succeeded in two trials, and the options do
  // not allow a higher rate. The server may then be able to handle an even higher rate.
  bool at_the_top() const { return confirmed_ == options_.highest; }
  size_t trials() const { return trials_; }

 private:
  void bracket(bool held);
  void narrow();
  void confirm(bool held);

  RateSearchOptions options_;
  std::optional<double> next_;
  std::vector<double> held_;  // the rates that held, ascending
  std::optional<double> failed_;
  size_t trials_ = 0;
  bool doubted_ = false;  // the rate in next_ has failed once and is being tried a second time
  bool confirming_ = false;
  std::optional<double> confirmed_;
};

}  // namespace peal::load
