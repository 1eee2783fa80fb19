// SPDX-License-Identifier: BSD-3-Clause
// SimulatedDuel: a duel that is simulated with random noise, for tests. The same seed gives the same noise with every
// standard library. In each round, each program (contender) runs for one slice of time. The logarithm of its cost per
// message in this slice is the sum of:
//
//   the contender's cost   what the duel should find
//   its start              drawn for each restart; the same in all rounds of the restart
//   the machine            a random walk from slice to slice, shared by all contenders; each round has a shuffled order
//   its round              drawn for each round; its deviation is three times as large in bursts, a quarter of the time
//   its mood               a part of the round's variance, which stays the same for several rounds
//   a thief                another program, which doubles the cost of one contender for one or more rounds
//
// Bursts and thieves continue from one restart to the next. A mood ends when its process ends.
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
  double start_sd = 0.025;  // standard deviation of one contender's start
  // The standard deviation of ln(cost of one program / cost of another program) in one round, as far as the rounds and
  // the moods of both programs cause it. The variance is greater than `round_sd`^2 in bursts and smaller outside of
  // bursts; its mean over all rounds is `round_sd`^2. All other noise is added to this noise: the start, the machine's
  // random walk and drift, and the effect of other programs (`stolen`).
  double round_sd = 0.1;
  double mood_share = 0;         // share of the round's variance that stays the same for several rounds
  double held_rounds = 4;        // how many rounds bursts and moods last on average
  double walk_sd = 0.01;         // standard deviation of the machine's random walk, per slice
  double drift = 0;              // steady increase of all logarithms of costs, per restart
  double stolen = 0;             // share of the rounds in which another program doubles one contender's cost
  bool has_heavy_tails = false;  // starts, rounds and moods follow Student's t with 3 degrees of freedom
};

class SimulatedDuel {
 public:
  // `costs` has the true cost of each simulated program. All other programs are compared with the first one. The duel
  // starts all programs several times. Each start is called a restart. After each restart, the programs run for
  // `rounds` rounds.
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

  // Each of these functions returns one list for each program except the first. A number in a list is ln(cost of the
  // program / cost of the first program). The lists of values() have one number for each restart. The lists of
  // round_values() have one number for each round.
  const std::vector<std::vector<double>>& values() const { return values_; }
  const std::vector<std::vector<double>>& round_values() const { return round_values_; }

 private:
  // Returns the next random number of the generator SplitMix64 (Steele, Lea and Flood 2014).
  uint64_t random() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  // Returns a random number that is more than 0 and less than 1.
  double uniform() { return (static_cast<double>(random() >> 12) + 0.5) * 0x1p-52; }
  bool happens(double share) { return uniform() < share; }
  // Returns a random number from the standard normal distribution (Box and Muller 1958).
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

  // Returns a random number with the mean 0 and the variance 1. The distribution is normal, unless `has_heavy_tails` is
  // set. With `has_heavy_tails`, extreme numbers are frequent (Student's t with 3 degrees of freedom).
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
    // In a round, all programs run for the same time. A program with a lower cost per message finishes more messages in
    // this time.
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
