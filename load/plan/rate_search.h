// SPDX-License-Identifier: BSD-3-Clause
// RateSearch: which rate to try next, to find the highest one that holds. Only the search: who tries a rate, and what
// holds, is somebody else's business. A plain value.
//
//   bracketing   doubles from the start rate while it holds, or halves while it does not, until one rate held and one
//                did not; a rate that does not hold is tried once more before it is believed
//   bisecting    in the middle, on a log scale, until the two are 5 % apart
//   confirming   the winner holds once more, or it counts as one that does not, and the bisecting goes on below it
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace peal::load {

struct RateSearchOptions {
  double start = 1000;
  double lowest = 1;
  double highest = 1e9;
  double step = 0.05;       // how far apart the highest that holds and the lowest that does not may be
  size_t most_trials = 40;  // doubling from 1 to 1e9 takes 30
};

class RateSearch {
 public:
  explicit RateSearch(const RateSearchOptions& options);

  // The rate to try; nothing when the search is over.
  std::optional<double> next() const { return next_; }
  // What became of it.
  void tell(bool held);

  // The highest rate that held twice, or once where the trials ran out; nothing where none did.
  std::optional<double> answer() const;
  // It held twice.
  bool confirmed() const { return confirmed_.has_value(); }
  // It is the highest that may be tried.
  bool at_the_top() const { return confirmed_ == options_.highest; }
  size_t trials() const { return trials_; }

 private:
  void bracket(bool held);
  void narrow();
  void confirm(bool held);

  RateSearchOptions options_;
  std::optional<double> next_;
  std::vector<double> held_;  // ascending
  std::optional<double> failed_;
  size_t trials_ = 0;
  bool doubted_ = false;  // next_ has failed once
  bool confirming_ = false;
  std::optional<double> confirmed_;
};

}  // namespace peal::load
