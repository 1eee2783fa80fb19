// SPDX-License-Identifier: BSD-3-Clause
#include <load/statistics/comparison_stats.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace peal::load {
namespace {

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The logarithms of the positive ones.
std::vector<double> logs_of(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (value > 0 && std::isfinite(value)) logs.push_back(std::log(value));
  }
  return logs;
}

struct Series {
  double mean;
  double variance_of_mean;
  double worth;  // independent values
};

Series weigh(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = mean_of(values);
  double squares = 0;
  double products = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
  }
  double r = squares > 0 ? products / squares : 0;
  r += (1 + 4 * r) / n + 0.5 / std::sqrt(n);
  r = std::clamp(r, 0.0, 0.99);
  const double worth = std::max(2.0, n * (1 - r) / (1 + r));
  // Values that resemble each other spread less than the process they come from.
  const double variance = squares / n * worth / (worth - 1);
  return {mean, variance / worth, worth};
}

// Twice the rank of each of a, then of b, among all of them; equal ones share.
std::vector<size_t> double_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<double> sorted = all;
  std::ranges::sort(sorted);
  std::vector<size_t> ranks;
  for (const double value : all) {
    const auto [first, last] = std::ranges::equal_range(sorted, value);
    ranks.push_back(static_cast<size_t>((first - sorted.begin()) + (last - sorted.begin()) + 1));
  }
  return ranks;
}

// How likely each sum of `chosen` of these ranks is, when all choices are.
std::vector<double> rank_sums(const std::vector<size_t>& ranks, size_t chosen) {
  const size_t most = std::accumulate(ranks.begin(), ranks.end(), size_t{0});
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  for (size_t seen = 0; seen < ranks.size(); ++seen) {
    for (size_t k = std::min(chosen, seen + 1); k > 0; --k) {
      for (size_t sum = most + 1; sum-- > ranks[seen];) ways[k][sum] += ways[k - 1][sum - ranks[seen]];
    }
  }
  const double all = std::accumulate(ways[chosen].begin(), ways[chosen].end(), 0.0);
  for (double& count : ways[chosen]) count /= all;
  return ways[chosen];
}

double two_sided(const std::vector<double>& likelihood, size_t sum) {
  const auto at = likelihood.begin() + static_cast<ptrdiff_t>(sum);
  const double low = std::accumulate(likelihood.begin(), at + 1, 0.0);
  const double high = std::accumulate(at, likelihood.end(), 0.0);
  return std::min(1.0, 2 * std::min(low, high));
}

// How many of the sorted pairwise differences may be cut off at either end: the largest c with P(U < c) <= 2.5 %.
size_t differences_outside(size_t a, size_t b) {
  std::vector<size_t> ranks(a + b);
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = 2 * (i + 1);
  const std::vector<double> likelihood = rank_sums(ranks, a);
  double below = 0;
  size_t cut = 0;
  for (size_t u = 0; u < a * b; ++u, ++cut) {
    below += likelihood[2 * u + a * (a + 1)];
    if (below > kAlpha / 2) break;
  }
  return cut;
}

}  // namespace

std::optional<Difference> series_difference(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> logs_a = logs_of(a);
  const std::vector<double> logs_b = logs_of(b);
  if (logs_a.size() < kFewestSteps || logs_b.size() < kFewestSteps) return std::nullopt;
  const Series x = weigh(logs_a);
  const Series y = weigh(logs_b);
  const double variance = x.variance_of_mean + y.variance_of_mean;
  const double difference = y.mean - x.mean;
  if (variance <= 0) {
    const double ratio = std::exp(difference);
    return Difference{ratio, ratio, ratio, difference == 0 ? 1.0 : 0.0};
  }
  const double freedom = variance * variance /
                         (x.variance_of_mean * x.variance_of_mean / (x.worth - 1) +
                          y.variance_of_mean * y.variance_of_mean / (y.worth - 1));
  const double error = std::sqrt(variance);
  const double reach = student_at(kAlpha, freedom) * error;
  return Difference{std::exp(difference), std::exp(difference - reach), std::exp(difference + reach),
                    student_two_tails(difference / error, freedom)};
}

std::optional<Difference> runs_difference(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> logs_a = logs_of(a);
  const std::vector<double> logs_b = logs_of(b);
  if (logs_a.size() < kFewestRuns || logs_b.size() < kFewestRuns) return std::nullopt;
  if (logs_a.size() > kMostRuns || logs_b.size() > kMostRuns) return std::nullopt;
  const std::vector<size_t> ranks = double_ranks(logs_a, logs_b);
  const size_t sum = std::accumulate(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(logs_a.size()), size_t{0});
  const double p = two_sided(rank_sums(ranks, logs_a.size()), sum);
  std::vector<double> differences;
  for (const double y : logs_b) {
    for (const double x : logs_a) differences.push_back(y - x);
  }
  std::ranges::sort(differences);
  const size_t outside = std::max<size_t>(differences_outside(logs_a.size(), logs_b.size()), 1) - 1;
  return Difference{std::exp(median_of(differences)), std::exp(differences[outside]),
                    std::exp(differences[differences.size() - 1 - outside]), p};
}

std::pair<int64_t, int64_t> percentile_bounds(const Histogram& times, double percent) {
  const uint64_t n = times.total_count();
  if (n == 0) return {0, 0};
  const double share = percent / 100;
  // The smallest k with P(X <= k) >= `wanted`, n at most.
  const auto rank_at = [n, share](double wanted) {
    uint64_t low = 0;
    uint64_t high = n;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (binomial_at_most(middle, n, share) >= wanted) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const uint64_t first = std::max<uint64_t>(rank_at(kAlpha / 2), 1);
  const uint64_t last = rank_at(1 - kAlpha / 2) + 1;
  int64_t low = times.min();
  int64_t high = times.max();
  bool found_low = false;
  bool found_high = false;
  times.for_each_recorded([&](const Histogram::Bucket& bucket) {
    if (!std::exchange(found_low, found_low || bucket.count_to_here >= first) && found_low) low = bucket.lowest;
    if (!std::exchange(found_high, found_high || bucket.count_to_here >= last) && found_high) high = bucket.highest;
  });
  return {low, high};
}

}  // namespace peal::load
