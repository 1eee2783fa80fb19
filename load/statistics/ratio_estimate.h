// SPDX-License-Identifier: BSD-3-Clause
// RatioEstimate: the ratio subject / rival and its confidence interval, estimated from the restarts of a duel. Pure
// functions, for one thread.
//
// In a duel, both programs are restarted several times. Each restart has several rounds of measuring. The rounds of a
// restart are not independent values: the memory addresses of a program differ from one start to the next, and change
// its cost by 1 to 5 %. All rounds of a restart share this effect. Therefore a restart gives one value, computed from
// all its rounds together. The confidence interval is a t interval over these values (Ibragimov and Mueller 2010).
#pragma once

#include <cstddef>
#include <span>

namespace peal::load {

// The smallest number of restarts for which a confidence interval is computed. Each restart of the two programs gives
// one value. With fewer values, the variance of the values is not known well enough.
inline constexpr size_t kFewestRestarts = 4;
// If two logarithms differ by less than this, they count as equal. A difference of this size is only a rounding error.
inline constexpr double kRounding = 1e-12;

class RatioEstimate {
 public:
  // Estimates the ratio subject / rival of two programs that were restarted several times. `logs` has one value for
  // each restart: the logarithm of the ratio that was measured. Values that are not finite are left out. The confidence
  // interval is computed from the scatter of all restarts.
  //
  // Stein's method is not used for the interval, although restarts_needed() uses the method to plan the number of
  // restarts. Stein's interval would be computed only from the scatter of the pilot, which is the first eight restarts.
  // Stein's interval is exact if the values have a normal distribution. But another program may, by chance, disturb
  // only restarts after the pilot. Stein's interval is too narrow in this case, because the pilot does not show the
  // disturbance. A simulation compared the two intervals while another program sometimes took a core. Stein's 95 %
  // interval contained the true ratio in 83 of 100 cases. The interval of this class contained the true ratio in 96 of
  // 100 cases.
  explicit RatioEstimate(std::span<const double> logs);

  // Returns the number of restarts whose value is a finite number.
  size_t restarts() const { return restarts_; }
  // Returns true if there are enough restarts for a confidence interval. Otherwise, there is no interval: low() is 0,
  // high() and margin() are infinite, and p() is 1.
  bool known() const { return known_; }
  // Returns the estimate of the ratio subject / rival: the geometric mean of the ratios of all restarts. Returns NaN if
  // no restart gave a value.
  double ratio() const;
  // low() and high() return the two ends of the 95 % confidence interval of the ratio. If known() is true and all
  // restarts gave the same value, both ends are equal. If known() is false, low() returns 0 and high() returns
  // infinity.
  double low() const;
  double high() const;
  // Returns true if the confidence interval contains `bound`. Also returns true in these cases:
  // - There is no interval, so no value of the ratio can be ruled out.
  // - `bound` is not a positive number, so that judge_bar() cannot find kMet or kNotMet for a bound that no ratio can
  //   have.
  // - `bound` is outside of the interval by at most a rounding error (kRounding).
  bool holds(double bound) const;
  // Returns the two-sided p-value of the hypothesis that the true ratio is `bound`. Returns 1 if there is no interval,
  // or if `bound` is not a positive finite number. In all other cases, the p-value is at most 0.05 if holds(bound) is
  // false. If all restarts gave the same value, the p-value is 1 for this value and 0 for all other values.
  double p(double bound) const;
  // Returns by how much the upper end of the confidence interval is above the ratio, as a share of the ratio. 0.02
  // means 2 %.
  double margin() const;

 private:
  size_t restarts_ = 0;
  bool known_ = false;
  double mean_ = 0;     // mean of the logarithms
  double error_ = 0;    // standard error of the mean
  double freedom_ = 0;  // degrees of freedom of the standard error
  double half_ = 0;     // half the width of the interval around the mean
};

// Returns how many restarts of the two programs are needed for a precise estimate: RatioEstimate::margin() should be at
// most `precision`. A precision of 0.02 means 2 %. The pilot is the series of restarts that were already made.
// `pilot_logs` has one value for each restart of the pilot. The result counts the restarts of the pilot too, so the
// result is at least the size of `pilot_logs`. The result is computed by the second stage of Stein's method, from the
// scatter of the pilot. RatioEstimate computes its interval in another way, so the margin may in the end be more than
// `precision`.
//
// The caller must limit the result, because the function returns SIZE_MAX in these cases:
// - A billion restarts or more are needed.
// - `precision` is not positive, because no number of restarts gives a margin of 0.
// - Fewer than four values of the pilot (kFewestRestarts) are finite, because the scatter of fewer values is not known
//   well enough.
size_t restarts_needed(std::span<const double> pilot_logs, double precision);

// Returns the value of one restart, which is ln(subject / rival). `subject` is the measured figure of the first program
// in this restart, for example its messages per second. `rival` is the same figure of the second program. A restart has
// several rounds of measuring. Each figure must be computed from all rounds of the restart together, and not as a
// median of the rounds. A median would hide a cost that occurs in only one of ten rounds, such as the cost of a garbage
// collector. Returns NaN if one of the figures is not positive, or if the result is not finite.
double restart_value(double subject, double rival);

}  // namespace peal::load
