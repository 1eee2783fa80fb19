// SPDX-License-Identifier: BSD-3-Clause
// ArrivalPlan: when the requests of an open loop are due, counted from its start. Made from text by parse_arrivals(); a
// plain value: copies are cheap and share what a file held.
//
// All but Poisson know arrival k in closed form. Constant, ramp and step are one thing, a rate made of straight pieces;
// k is due when its integral N reaches k:
//
//   rate |      ____ 3.        N(t) = count + rate t + slope t^2 / 2   within a piece, t from its begin
//        | 1.  / 2.            N(t) = k   solved: t = 2 (k - count) / (rate + sqrt(rate^2 + 2 slope (k - count)))
//        |____/
//        +-----------> t       (that form of the root loses no digits, and is k / rate where the slope is 0)
//
// What is counted ends at kArrivalHorizon: later than that nothing is ever due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <peal/base/clock.h>

namespace peal::load {

inline constexpr Duration kArrivalHorizon{int64_t{1} << 50};  // 13 days
inline constexpr Duration kNotDue = Duration::max();
inline constexpr double kFastestArrivals = 1e9;  // a second

class ArrivalPlan {
 public:
  enum class Kind : uint8_t { kPieces, kBurst, kFile, kPoisson };
  // Of a rate: from `begin_s` on until the next one's. A rate may be 0.
  struct Piece {
    double begin_s;
    double rate;       // arrivals a second, at its begin
    double slope = 0;  // a second
    double count = 0;  // N at its begin: the plan fills it in
  };

  // Rates are of all threads together; more than 0, at most kFastestArrivals.
  static ArrivalPlan constant(double rate);
  static ArrivalPlan poisson(double rate);
  // Two rates of which one may be 0; the second is held from `over` on.
  static ArrivalPlan ramp(double from, double to, Duration over);
  // Each rate for `every`, the last for good; one of them is not 0.
  static ArrivalPlan steps(const std::vector<double>& rates, Duration every);
  // `count` at once, and again each `every`; together no faster than kFastestArrivals.
  static ArrivalPlan bursts(uint64_t count, Duration every);
  // At these offsets, which ascend and of which there is one.
  static ArrivalPlan at(std::vector<Duration> offsets);

  Kind kind() const { return kind_; }
  // Of a Poisson plan: arrivals a second.
  double poisson_rate() const { return pieces_.front().rate; }

  // When arrival `k` is due; kNotDue: there is no such arrival. Not of a Poisson plan. `piece` is where the search
  // begins and then where it ended: 0, or what the call for an earlier arrival left.
  Duration due(uint64_t k, size_t& piece) const;
  Duration due(uint64_t k) const {
    size_t piece = 0;
    return due(k, piece);
  }
  // How many arrivals are due at `offset` or before; agrees with due() exactly. Not of a Poisson plan.
  uint64_t count_by(Duration offset) const;

  // How many arrivals of all threads are due in [from, to). Of a Poisson plan the mean of what will be drawn; of the
  // others exact: an integer, and what the threads' cursors together offer.
  double expected_count(Duration from, Duration to) const;

 private:
  explicit ArrivalPlan(Kind kind) : kind_(kind) {}
  static ArrivalPlan of_pieces(Kind kind, std::vector<Piece> pieces);
  Duration due_of_pieces(uint64_t k, size_t& piece) const;
  double integral(Duration offset) const;

  Kind kind_;
  std::vector<Piece> pieces_;  // of kPieces and kPoisson; the first begins at 0
  uint64_t burst_ = 0;
  Duration every_{};
  std::shared_ptr<const std::vector<Duration>> offsets_;
};

}  // namespace peal::load
