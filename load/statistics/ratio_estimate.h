// SPDX-License-Identifier: BSD-3-Clause
// What the restarts of a duel allow one to say of subject / rival. The restart is the unit, not the round: where memory
// falls moves a program by 1 to 5 % from one start to the next, and all rounds of a restart share that. A restart gives
// one value, of all its rounds together; a t interval over restarts speaks of the programs (Ibragimov and Mueller
// 2010). Pure functions, for one thread.
#pragma once

#include <cstddef>
#include <span>

namespace peal::load {

// With fewer, nothing is said: the t quantile would rest on a variance that is not known.
inline constexpr size_t kFewestRestarts = 4;
// Logs that differ by less are equal: what remains is rounding.
inline constexpr double kRounding = 1e-12;

class RatioEstimate {
 public:
  // `logs`: of each restart, ln(subject / rival); those that are not finite are left out. Whoever chose how many there
  // are, a plan, a budget or restarts_needed() after a pilot: the interval rests on the scatter of all. (Stein's own,
  // which rests on the pilot's alone, is exact for normal values; with a stolen core its 95 % held the truth in 83 of
  // 100, where this one's did in 96, for eight restarts that met no thief know of none.)
  explicit RatioEstimate(std::span<const double> logs);

  // Those that gave a value.
  size_t restarts() const { return restarts_; }
  // Whether an interval can be given. Where not: `low` is 0, `high` and `margin` are infinite, every p is 1.
  bool known() const { return known_; }
  // exp of the mean; not a number where no restart gave a value.
  double ratio() const;
  // The 95 % interval. Values that are all equal have an interval of no width.
  double low() const;
  double high() const;
  bool holds(double bound) const;
  // Two-sided, of "the ratio is `bound`"; p(bound) <= 0.05 where the interval does not hold it. 1 for what is no
  // positive number.
  double p(double bound) const;
  // Half the interval, relative: 0.02 is "+-2 %".
  double margin() const;

 private:
  size_t restarts_ = 0;
  bool known_ = false;
  double mean_ = 0;     // of the logs
  double error_ = 0;    // of the mean
  double freedom_ = 0;  // degrees of it
  double half_ = 0;     // of the interval of the mean
};

// Stein's second stage: how many restarts in all, those of the pilot included, until `margin` is at most `precision`
// (0.02: +-2 %); never fewer than the pilot had. The caller caps it: the answer is SIZE_MAX where nothing would do (a
// precision that is not positive) or nobody knows (a pilot of fewer than kFewestRestarts finite values).
size_t restarts_needed(std::span<const double> pilot_logs, double precision);

// What a restart says: ln(subject / rival) of what each came to in all its rounds together; not a number where one of
// them is no positive number. No median over the rounds: what a collector costs in one round of ten is a cost.
double restart_value(double subject, double rival);

}  // namespace peal::load
