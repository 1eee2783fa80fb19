// SPDX-License-Identifier: BSD-3-Clause
// What every test of the load generator's figures rests on: the tails of Student's t and of the binomial, the median,
// and the price of testing many things at once. Pure functions, for one thread (lgamma sets a global).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace peal::load {

inline constexpr double kAlpha = 0.05;

// Student's t: P(|T| >= |t|), and the t whose two tails together hold `p`. Through the incomplete beta function
// (Abramowitz and Stegun 26.7.1), that by its continued fraction (26.5.8).
double student_two_tails(double t, double freedom);
double student_at(double p, double freedom);
// P(X <= k) of a binomial X; 0 <= k < n (26.5.24).
double binomial_at_most(uint64_t k, uint64_t n, double share);

// 0 of none.
double median_of(std::vector<double> values);

// Holm's step-down adjustment, in the order given.
std::vector<double> holm(std::span<const double> p);

}  // namespace peal::load
