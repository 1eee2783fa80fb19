// SPDX-License-Identifier: BSD-3-Clause
// For tests: the noise of a duel, from a seed, the same with every standard library. A slice's cost is, as a logarithm,
// the sum of
//
//   the contender's cost   what the duel is to find
//   its start              drawn anew each restart, the same in all its rounds
//   the machine            a walk that all contenders share from slice to slice, in an order shuffled each round
//   its round              drawn each round; three times as wide while the machine is in a burst, a quarter of the time
//   its mood               a part of the round's variance, held for several rounds
//   a thief                who doubles what one contender costs, for a round or several
//
// Bursts and thieves do not care for restarts; a mood ends with the process.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include <load/statistics/ratio_estimate.h>

namespace peal::load {

struct DuelNoise {
  double start_sd = 0.025;       // of one contender
  double round_sd = 0.1;         // of two contenders' ratio in a round, thieves and machine aside
  double mood_share = 0;         // of the round's variance
  double held_rounds = 4;        // how long bursts and moods last, on average
  double walk_sd = 0.01;         // of the machine, a slice
  double drift = 0;              // of the machine, a restart
  double stolen = 0;             // the share of rounds that have a thief
  bool has_heavy_tails = false;  // starts and rounds are of Student's t with 3 degrees of freedom
};

class SimulatedDuel {
 public:
  // `costs`: of each contender; the first is everybody's rival.
  SimulatedDuel(const DuelNoise& noise, std::vector<double> costs, size_t rounds, uint64_t seed)
      : noise_(noise),
        costs_(std::move(costs)),
        rounds_(rounds),
        state_(seed),
        starts_(costs_.size()),
        moods_(costs_.size()),
        slices_(costs_.size()),
        order_(costs_.size()),
        victim_(costs_.size()),
        values_(costs_.size() - 1),
        round_values_(costs_.size() - 1) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  void play_until(size_t restarts) {
    while (values_.front().size() < restarts) play_restart();
  }

  // Of each contender but the first: ln(it / first) of each restart, and of each round of all restarts.
  const std::vector<std::vector<double>>& values() const { return values_; }
  const std::vector<std::vector<double>>& round_values() const { return round_values_; }

 private:
  // SplitMix64 (Steele, Lea and Flood 2014).
  uint64_t random() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  // Between 0 and 1, neither included.
  double uniform() { return (static_cast<double>(random() >> 12) + 0.5) * 0x1p-52; }
  bool happens(double share) { return uniform() < share; }
  // Box and Muller 1958.
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

  // Of variance 1.
  double draw() {
    const double value = normal();
    if (!noise_.has_heavy_tails) return value;
    const double a = normal();
    const double b = normal();
    const double c = normal();
    return value / std::sqrt(a * a + b * b + c * c);
  }

  void play_restart() {
    for (size_t i = 0; i < costs_.size(); ++i) starts_[i] = std::log(costs_[i]) + noise_.start_sd * draw();
    for (double& mood : moods_) mood = draw();
    // A slice lasts so long, whatever a message costs in it.
    std::vector<double> messages(slices_.size(), 0);
    for (size_t round = 0; round < rounds_; ++round) {
      play_round();
      for (size_t i = 0; i < slices_.size(); ++i) messages[i] += std::exp(-slices_[i]);
      for (size_t i = 1; i < slices_.size(); ++i) round_values_[i - 1].push_back(slices_[i] - slices_[0]);
    }
    for (size_t i = 0; i < values_.size(); ++i) values_[i].push_back(restart_value(messages[0], messages[i + 1]));
  }

  void play_round() {
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
    in_burst_ = in_burst_ ? !happens(1 / noise_.held_rounds) : happens(1 / noise_.held_rounds / 3);
    if (happens(0.5)) victim_ = happens(noise_.stolen) ? order_.front() : costs_.size();
    const double own_sd = noise_.round_sd / std::sqrt(2.0);
    const double mood_sd = own_sd * std::sqrt(noise_.mood_share);
    const double sd = own_sd * std::sqrt((1 - noise_.mood_share) * (in_burst_ ? 3 : 1.0 / 3));
    for (const size_t i : order_) {
      machine_ += noise_.walk_sd * normal() + noise_.drift / static_cast<double>(rounds_ * costs_.size());
      if (happens(1 / noise_.held_rounds)) moods_[i] = draw();
      slices_[i] = starts_[i] + machine_ + sd * draw() + mood_sd * moods_[i] + (i == victim_ ? std::log(2) : 0);
    }
  }

  DuelNoise noise_;
  std::vector<double> costs_;
  size_t rounds_;
  uint64_t state_;
  std::vector<double> starts_;
  std::vector<double> moods_;
  std::vector<double> slices_;
  std::vector<size_t> order_;
  double machine_ = 0;
  bool in_burst_ = false;
  size_t victim_;
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<double>> round_values_;
};

}  // namespace peal::load
