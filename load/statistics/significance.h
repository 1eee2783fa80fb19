// SPDX-License-Identifier: BSD-3-Clause
// The statistics behind the load generator's verdicts: the tails of Student's t and of the binomial distribution, the
// median, and Holm's adjustment. Holm's adjustment corrects the p-values of hypotheses that are tested together. Pure
// functions, for one thread, because lgamma(3) sets a global variable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace peal::load {

inline constexpr double kAlpha = 0.05;

// T is a random number with Student's t distribution and `freedom` degrees of freedom. student_two_tails() returns the
// probability P(|T| >= |t|). student_at() returns the value t for which this probability is `p`. Both functions use a
// continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.7.1 and 26.5.8).
double student_two_tails(double t, double freedom);
double student_at(double p, double freedom);
// X is the number of successes in `n` trials. Each trial succeeds with the probability `share`. Returns the probability
// P(X <= k). `k` must be less than `n` (Abramowitz and Stegun, 26.5.24).
double binomial_at_most(uint64_t k, uint64_t n, double share);

// Returns the median of the values. Returns 0 if there are no values.
double median_of(std::vector<double> values);

// Adjusts the p-values of hypotheses that are tested together, by Holm's step-down method. Returns the adjusted
// p-values in the order of `p`.
std::vector<double> holm(std::span<const double> p);

}  // namespace peal::load
